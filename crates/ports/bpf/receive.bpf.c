// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Accounts for every frame that arrives on one port, as trial::Receiver does, and hands on to the
 * kernel whatever is not ours.
 *
 * Every receive queue has accounts of its own: one queue never runs on two cores at once, so they
 * are counted with plain adds.
 */
#include "capture.h"
#include "control.h"
#include "receive.h"
#include "verify.h"

#define NS_PER_S 1000000000ULL

/* Set before the program is loaded, so that what a trial does not need is left out of it. */
const volatile u32 QUEUES = 1;
const volatile u32 STREAMS = 1;
/* Streams that belong here. */
const volatile u32 ACCOUNTS = 1;
const volatile u32 FINGERPRINTS = 0;
const volatile u32 VERIFY_PAYLOAD = 0;
const volatile u32 HAS_FULL = 1;
const volatile u32 HAS_SHORT = 0;
const volatile u32 HAS_COMPACT = 0;
/* Tagged frames of all streams together; 0 where none is tagged. */
const volatile u32 TAGGED = 0;
/* Whether chosen streams are captured, and whether what is none of them is, too. */
const volatile u32 CAPTURE = 0;
const volatile u32 CAPTURE_ALL = 0;

#define ARRAY(name, type_)                             \
	struct {                                       \
		__uint(type, MAP_TYPE_ARRAY);          \
		__uint(map_flags, MAP_FLAG_MMAPABLE);  \
		__uint(max_entries, 1);                \
		__type(key, u32);                      \
		__type(value, type_);                  \
	} name SEC(".maps")

/*
 * All other maps have room for two trials, so that user space prepares one trial in one half while
 * frames of the trial before are still counted in the other. This is the half that counts.
 */
ARRAY(half, u64);
ARRAY(control, struct receive_control);
ARRAY(queues, struct queue_account);
/* By stream number: 1 + index in `expected`, and a flag; 0 for strangers. */
#define CAPTURED_STREAM (1ULL << 32)
ARRAY(by_number, u64);
ARRAY(expected, struct expected);
/* By queue, then by stream: those that belong here, and all, for the others. */
ARRAY(accounts, struct account);
ARRAY(strays, struct stray);
/* One bit a frame: whether it has arrived. */
ARRAY(seen, u64);
ARRAY(lengths, u64);
/* By queue, then by stream; each queue has room for all. */
ARRAY(tagged, struct tagged);
ARRAY(fingerprints, struct fingerprint);

/* What the end of a frame makes it. */
enum recognised { UNKNOWN, OURS, LEFTOVER, FORGED };

struct frame {
	u64 now;
	u32 len;
	u32 form;
	/* Index of the stream. */
	u32 stream;
	u32 is_captured;
	u64 sequence;
	/* When it was sent: at first as many low bits of it as the frame carries. */
	u64 sent;
	/* Of which earlier trial it is: 1 for the one before. */
	u64 trials_ago;
};

/* trial::signature::extend: the number nearest to `near` that ends in the `bits` bits of `low`. */
INLINE u64 extend(u64 low, u32 bits, u64 near)
{
	u64 span = 1ULL << bits;
	u64 candidate = (near & ~(span - 1)) | (low & (span - 1));

	if (candidate > near && candidate - near > span / 2)
		return candidate >= span ? candidate - span : candidate;
	if (near > candidate && near - candidate > span / 2)
		return candidate + span > candidate ? candidate + span : candidate;
	return candidate;
}

/* wire::signature::extend_time: the last time up to `latest` that ends in the `bits` bits of `low`. */
INLINE u64 extend_time(u64 low, u32 bits, u64 latest)
{
	u64 span = 1ULL << bits;
	u64 candidate = (latest & ~(span - 1)) | low;

	return candidate > latest && candidate >= span ? candidate - span : candidate;
}

/* Room for a trailer whose head is aligned, as numbers on the stack must be. */
#define ROOM_AT (8 - HEAD_AT)
struct room {
	u64 words[4];
};

/* The last `len` bytes of the frame: where they are, or in `room` if that is not in the first piece. */
INLINE const void *trailer_of(struct xdp_md *ctx, u32 frame_len, struct room *room, const u32 len)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	u32 at = frame_len - len;
	void *trailer;

	if (frame_len < len)
		return 0;
	if (likely(at <= 0x3fff)) {
		trailer = data + at;
		if (likely(trailer + len <= data_end))
			return trailer;
	}
	trailer = (void *)room + ROOM_AT;
	return bpf_xdp_load_bytes(ctx, at, trailer, len) ? 0 : trailer;
}

INLINE u64 number_entry(const struct receive_control *c, u32 number)
{
	u32 at = c->numbers_first + number;
	u64 *entry;

	if (number >= c->numbers)
		return 0;
	entry = bpf_map_lookup_elem(&by_number, &at);
	return entry ? *entry : 0;
}

INLINE int find_stream(const struct receive_control *c, struct frame *frame, u32 number)
{
	u64 entry = number_entry(c, number);

	if (!entry)
		return 0;
	frame->stream = (u32)entry - 1;
	frame->is_captured = (entry & CAPTURED_STREAM) != 0;
	return 1;
}

INLINE u32 time_bits(const struct frame *frame)
{
	return frame->form == FORM_FULL ? FULL_TIME_BITS : SHORT_TIME_BITS;
}

/* Of which earlier trial a frame of a form with tags is; 0 if of none. */
static FUNCTION u64 trials_ago(const struct receive_control *c, u32 form, u64 head, u32 sequence,
			       u32 tag)
{
	u32 mask = form == FORM_FULL ? ~0U : 0xff;
	u64 block = c->tag_blocks[form & 3] | sequence;
	u64 others = block & ~(0xffffULL << 32);

	for (u64 ago = 1; ago <= EARLIER_TRIALS; ago++) {
		u16 trial = (block >> 32) - ago;

		if (ago > c->earlier)
			break;
		if (((u32)tag_of(c->hash, head, others | (u64)trial << 32) & mask) == tag)
			return ago;
	}
	return 0;
}

/*
 * Whether a frame may have been sent before this trial began: tags are narrow, and one of an earlier
 * trial may fit a frame that was forged in this one.
 */
INLINE int is_from_before(const struct receive_control *c, const struct frame *frame)
{
	u64 sent = extend_time(frame->sent, time_bits(frame), frame->now + c->slack_ns);

	return !c->start_ns || sent <= c->start_ns + c->slack_ns;
}

/* What a frame is whose sum is good and whose tag is not. */
INLINE int untagged(const struct receive_control *c, struct frame *frame, u64 head, u32 tag,
		    u32 stream)
{
	if (is_from_before(c, frame))
		frame->trials_ago = trials_ago(c, frame->form, head, frame->sequence, tag);
	if (frame->trials_ago)
		return LEFTOVER;
	return number_entry(c, stream) ? FORGED : UNKNOWN;
}

INLINE int is_full(struct xdp_md *ctx, const struct receive_control *c, struct frame *frame)
{
	struct room room;
	const void *trailer = trailer_of(ctx, frame->len, &room, FULL_BYTES);
	u64 sum, head;
	u32 tag;

	if (!trailer)
		return UNKNOWN;
	head = NUMBER_AT(const u64, trailer, HEAD_AT);
	frame->sequence = NUMBER_AT(const u32, trailer, SEQUENCE_AT);
	tag = NUMBER_AT(const u32, trailer, TAG_AT);
	sum = NUMBER_AT(const u16, trailer, CHECK_AT) + words_of(head) + frame->sequence + tag;
	if (canonical(be16(fold(sum))) != c->targets[FORM_FULL])
		return UNKNOWN;
	head = be64(head);
	tag = be32(tag);
	frame->form = FORM_FULL;
	frame->sequence = be32(frame->sequence);
	frame->sent = head & ((1ULL << FULL_TIME_BITS) - 1);
	if (unlikely((u32)tag_of(c->hash, head, c->tag_blocks[FORM_FULL] | frame->sequence) !=
		     tag))
		return untagged(c, frame, head, tag, head >> FULL_STREAM_AT);
	return find_stream(c, frame, head >> FULL_STREAM_AT) ? OURS : UNKNOWN;
}

INLINE int is_short(struct xdp_md *ctx, const struct receive_control *c, struct frame *frame)
{
	struct room room;
	const void *trailer = trailer_of(ctx, frame->len, &room, SHORT_BYTES);
	u64 sum, head;
	u8 tag;

	if (!trailer)
		return UNKNOWN;
	head = NUMBER_AT(const u64, trailer, HEAD_AT);
	frame->sequence = NUMBER_AT(const u32, trailer, SEQUENCE_AT);
	sum = NUMBER_AT(const u16, trailer, CHECK_AT) + words_of(head) + frame->sequence;
	if (canonical(be16(fold(sum))) != c->targets[FORM_SHORT])
		return UNKNOWN;
	head = be64(head);
	tag = head;
	head &= ~0xffULL;
	frame->form = FORM_SHORT;
	frame->sequence = be32(frame->sequence);
	frame->sent = head >> 8 & ((1ULL << SHORT_TIME_BITS) - 1);
	if (unlikely((u8)tag_of(c->hash, head, c->tag_blocks[FORM_SHORT] | frame->sequence) !=
		     tag))
		return untagged(c, frame, head, tag, head >> SHORT_STREAM_AT);
	return find_stream(c, frame, head >> SHORT_STREAM_AT) ? OURS : UNKNOWN;
}

INLINE u16 compact_stream(u16 sum, u16 target)
{
	return canonical(fold((u64)sum + (u16)~target));
}

INLINE int is_compact(struct xdp_md *ctx, const struct receive_control *c, struct frame *frame)
{
	struct room room;
	const void *trailer = trailer_of(ctx, frame->len, &room, COMPACT_BYTES);
	u16 sum;

	if (!trailer)
		return UNKNOWN;
	frame->sequence = NUMBER_AT(const u32, trailer, COMPACT_SEQUENCE_AT);
	sum = canonical(be16(fold(NUMBER_AT(const u16, trailer, CHECK_AT) + frame->sequence)));
	frame->form = FORM_COMPACT;
	frame->sequence = be32(frame->sequence);
	if (find_stream(c, frame, compact_stream(sum, c->targets[FORM_COMPACT])))
		return OURS;
	for (u32 i = 0; i < EARLIER_TRIALS; i++) {
		if (i < c->earlier && number_entry(c, compact_stream(sum, c->compact_targets[i]))) {
			frame->trials_ago = i + 1;
			return LEFTOVER;
		}
	}
	return UNKNOWN;
}

INLINE int recognise(struct xdp_md *ctx, const struct receive_control *c, struct frame *frame)
{
	int what, is_forged = 0;

	if (HAS_FULL) {
		what = is_full(ctx, c, frame);
		if (likely(what == OURS) || what == LEFTOVER)
			return what;
		is_forged = what == FORGED;
	}
	if (HAS_SHORT) {
		what = is_short(ctx, c, frame);
		if (likely(what == OURS) || what == LEFTOVER)
			return what;
		is_forged |= what == FORGED;
	}
	if (HAS_COMPACT && !is_forged)
		return is_compact(ctx, c, frame);
	return is_forged ? FORGED : UNKNOWN;
}

INLINE void note_arrival_time(struct account *a, u64 now)
{
	u64 gap;

	if (unlikely(!a->arrivals_in_time++)) {
		a->first_ns = now;
		a->last_ns = now;
		return;
	}
	gap = now - a->last_ns;
	if (!a->gaps.count || gap > a->gaps.max) {
		a->silence_from_ns = a->last_ns;
		a->silence_to_ns = now;
	}
	record(&a->gaps, gap);
	a->last_ns = now;
}

/* Where the bit of a frame is: src/xdp/seen.rs states the same. */
INLINE u64 seen_bit(const struct expected *e, u64 sequence)
{
	u32 queues_log2 = e->queues_log2 & 15;
	u64 in_block, queue;

	if (likely(!queues_log2))
		return sequence;
	in_block = sequence & ((LINE_BITS << queues_log2) - 1);
	queue = in_block & ((1 << queues_log2) - 1);
	return sequence - in_block + queue * LINE_BITS + (in_block >> queues_log2);
}

/* Whether the frame has not arrived before. */
INLINE int is_new(const struct expected *e, u64 sequence)
{
	u64 at_bit = seen_bit(e, sequence);
	u64 bit = 1ULL << (at_bit & 63);
	u32 at = e->seen_first + (at_bit >> 6);
	u64 *word = bpf_map_lookup_elem(&seen, &at);
	u64 before;

	if (!word)
		return 0;
	if (QUEUES > 1)
		return !(__sync_fetch_and_or(word, bit) & bit);
	before = *word;
	*word = before | bit;
	return !(before & bit);
}

INLINE void note_length(struct account *a, const struct expected *e, const struct frame *frame)
{
	u64 sequence = frame->sequence;
	u64 *length;
	u32 at;

	if (!e->lengths_count)
		return;
	if (e->lengths_count == 1)
		a->length_at = 0;
	else if (sequence == a->length_sequence + 1)
		a->length_at = a->length_at + 1 == e->lengths_count ? 0 : a->length_at + 1;
	else
		a->length_at = sequence % e->lengths_count;
	a->length_sequence = sequence;
	at = e->lengths_first + a->length_at;
	length = bpf_map_lookup_elem(&lengths, &at);
	a->wrong_length += !length || *length != frame->len;
}

struct overtaker {
	struct account *account;
	u64 sequence;
	/* Jumps numbered from `low` up to `high` may be the one looked for. */
	u64 low;
	u64 high;
};

static long halve(u32 step, struct overtaker *o)
{
	u64 middle = o->low + (o->high - o->low) / 2;

	if (o->low >= o->high)
		return 1;
	if (o->account->jumps[middle & (JUMPS - 1)].sequence < o->sequence)
		o->low = middle + 1;
	else
		o->high = middle;
	return 0;
}

/* How far behind the earliest frame that overtook it a reordered frame arrives. */
static FUNCTION void note_extent(struct account *a, u64 sequence)
{
	struct overtaker o = { a, sequence, 0, a->jumps_made };
	u64 extent;

	if (o.high > JUMPS)
		o.low = o.high - JUMPS;
	bpf_loop(14, halve, &o, 0);
	if (o.low >= a->jumps_made)
		return;
	extent = a->unique - a->jumps[o.low & (JUMPS - 1)].arrival;
	if (extent > a->extent_max)
		a->extent_max = extent;
}

/* trial::receiver: frames of different queues have no order. */
static FUNCTION void note_order_in_queue(struct account *a, const struct expected *e, u64 sequence)
{
	u64 queue = (e->first_slot + sequence % e->period) % e->send_queues;
	u64 *next = &a->next_of_queue[queue & (SEND_QUEUES - 1)];

	if (sequence >= a->next_expected)
		a->next_expected = sequence + 1;
	if (sequence < *next)
		a->reordered++;
	else
		*next = sequence + 1;
}

INLINE void note_order(struct account *a, const struct expected *e, u64 sequence)
{
	struct jump *jump;

	if (unlikely(e->send_queues)) {
		note_order_in_queue(a, e, sequence);
		return;
	}

	if (unlikely(sequence < a->next_expected)) {
		a->reordered++;
		note_extent(a, sequence);
		return;
	}
	if (unlikely(sequence > a->next_expected)) {
		jump = &a->jumps[a->jumps_made++ & (JUMPS - 1)];
		jump->arrival = a->unique;
		jump->sequence = sequence;
	}
	a->next_expected = sequence + 1;
}

static FUNCTION void begin_second(struct account *a, u64 now, u64 start)
{
	u64 second = now > start ? (now - start) / NS_PER_S : 0;

	for (u32 i = 0; i < SECONDS && a->second < second; i++) {
		a->second++;
		a->seconds[a->second & (SECONDS - 1)] = 0;
	}
	if (a->second != second)
		a->seconds[second & (SECONDS - 1)] = 0;
	a->second = second;
	a->second_end_ns = start + (second + 1) * NS_PER_S;
}

INLINE void note_second(struct account *a, u64 now, u64 start)
{
	if (unlikely(now >= a->second_end_ns) && start)
		begin_second(a, now, start);
	a->seconds[a->second & (SECONDS - 1)]++;
}

INLINE void note_variation(struct account *a, s64 difference)
{
	if (!a->variations++) {
		a->variation_min = difference;
		a->variation_max = difference;
	}
	a->variation_sum += difference < 0 ? -difference : difference;
	if (difference < a->variation_min)
		a->variation_min = difference;
	if (difference > a->variation_max)
		a->variation_max = difference;
}

INLINE void note_tag(struct account *a, const struct expected *e, u64 sequence, u64 ticks,
		     u32 queue)
{
	u64 from_first = sequence - e->tag_first;
	struct tagged *entry;
	u64 index;
	u32 at;

	if (sequence < e->tag_first || !e->tag_count)
		return;
	/* Between two tags, which spares the division. */
	if (a->tagged && sequence > a->tag_last && sequence - a->tag_last < e->tag_every)
		return;
	index = from_first / e->tag_every;
	if (index >= e->tag_count || index * e->tag_every != from_first)
		return;
	a->tag_last = sequence;
	at = queue * TAGGED + e->tagged_first + a->tagged++;
	entry = bpf_map_lookup_elem(&tagged, &at);
	if (entry) {
		entry->index = index;
		entry->ticks = ticks;
	}
}

INLINE void note_latency(struct account *a, const struct expected *e, const struct frame *frame,
			 u32 queue)
{
	u64 ticks = frame->now > frame->sent ? frame->now - frame->sent : 0;

	if (a->latencies.count && a->previous_sequence + 1 == frame->sequence)
		note_variation(a, (s64)(ticks - a->previous_ticks));
	record(&a->latencies, ticks);
	a->previous_sequence = frame->sequence;
	a->previous_ticks = ticks;
	if (TAGGED)
		note_tag(a, e, frame->sequence, ticks, queue);
}

INLINE void in_time(struct account *a, const struct expected *e, const struct frame *frame,
		    u64 start_ns, u32 queue)
{
	note_arrival_time(a, frame->now);
	if (!is_new(e, frame->sequence)) {
		a->duplicates++;
		return;
	}
	a->unique++;
	a->unique_bytes += frame->len + 4;
	note_length(a, e, frame);
	note_order(a, e, frame->sequence);
	note_second(a, frame->now, start_ns);
	if (frame->form != FORM_COMPACT)
		note_latency(a, e, frame, queue);
}

/* Whether the frame cannot have been sent when it says, in this trial. */
INLINE int is_untimely(const struct receive_control *c, struct frame *frame)
{
	u64 latest = frame->now + c->slack_ns;

	if (frame->form == FORM_COMPACT)
		return 0;
	frame->sent = extend_time(frame->sent, time_bits(frame), latest);
	return frame->sent > latest || frame->sent + c->slack_ns < c->start_ns;
}

/* Whether the frame is no frame of its stream, or damaged. */
INLINE int is_corrupted(struct xdp_md *ctx, const struct receive_control *c,
			const struct expected *e, struct frame *frame, u64 next_expected)
{
	frame->sequence = extend(frame->sequence, SEQUENCE_BITS, next_expected);
	return frame->sequence >= e->frames_max || is_untimely(c, frame) ||
	       (VERIFY_PAYLOAD && !transport_is_good(ctx));
}

INLINE void absorb_stray(struct xdp_md *ctx, const struct receive_control *c,
			 const struct expected *e, struct frame *frame, u32 queue)
{
	u32 at = queue * STREAMS + (u32)e->stray;
	struct stray *s = bpf_map_lookup_elem(&strays, &at);

	if (!s)
		return;
	if (is_corrupted(ctx, c, e, frame, s->next_expected)) {
		s->corrupted++;
	} else if (frame->now > c->deadline_ns) {
		s->late++;
	} else {
		if (!s->arrivals++)
			s->first_ns = frame->now;
		s->last_ns = frame->now;
		s->bytes += frame->len + 4;
		if (frame->sequence >= s->next_expected)
			s->next_expected = frame->sequence + 1;
	}
}

INLINE void absorb_ours(struct xdp_md *ctx, const struct receive_control *c, struct frame *frame,
			u32 queue)
{
	struct expected *e = bpf_map_lookup_elem(&expected, &frame->stream);
	struct account *a;
	u32 at;

	if (!e)
		return;
	if (ACCOUNTS < STREAMS && !e->account) {
		absorb_stray(ctx, c, e, frame, queue);
		return;
	}
	at = queue * ACCOUNTS + (u32)e->account - 1;
	a = bpf_map_lookup_elem(&accounts, &at);
	if (!a)
		return;
	if (is_corrupted(ctx, c, e, frame, a->next_expected))
		a->corrupted++;
	else if (frame->now > c->deadline_ns)
		a->late++;
	else
		in_time(a, e, frame, c->start_ns, queue);
}

struct search {
	struct xdp_md *ctx;
	u32 first;
	u32 found;
};

static long compare(u32 index, struct search *search)
{
	u32 at = search->first + index;
	struct fingerprint *print = bpf_map_lookup_elem(&fingerprints, &at);
	u32 word;

	if (!print || bpf_xdp_load_bytes(search->ctx, print->offset, &word, sizeof(word)))
		return 0;
	search->found = ((be32(word) ^ print->value) & print->mask) == 0;
	return search->found;
}

INLINE int absorb_other(struct xdp_md *ctx, const struct receive_control *c,
			struct queue_account *q, const struct frame *frame, int what)
{
	struct search search = { ctx, c->fingerprints_first, 0 };

	if (what == LEFTOVER) {
		q->leftovers[(frame->trials_ago - 1) & (EARLIER_TRIALS - 1)]++;
		q->leftover_last_ns = frame->now;
		return XDP_DROP;
	}
	if (what == FORGED) {
		q->forged++;
		return XDP_DROP;
	}
	if (FINGERPRINTS)
		bpf_loop(FINGERPRINTS, compare, &search, 0);
	if (search.found) {
		q->corrupted++;
		return XDP_DROP;
	}
	if (is_control(ctx))
		return XDP_PASS;
	q->foreign++;
	q->foreign_bytes += frame->len + 4;
	return XDP_PASS;
}

SEC("xdp.frags") int receive(struct xdp_md *ctx)
{
	struct receive_control *c;
	struct queue_account *q;
	struct frame frame = {};
	u32 zero = 0, queue = 0, at;
	u64 *current;
	int what;

	frame.now = bpf_ktime_get_ns();
	frame.len = bpf_xdp_get_buff_len(ctx);
	if (QUEUES > 1)
		queue = ctx->rx_queue_index;
	current = bpf_map_lookup_elem(&half, &zero);
	if (!current || queue >= QUEUES)
		return XDP_PASS;
	at = *current;
	c = bpf_map_lookup_elem(&control, &at);
	if (!c)
		return XDP_PASS;
	if (MAPS_CLOCK)
		frame.now = mapped(&c->clock, frame.now);
	at = c->queues_first + queue;
	q = bpf_map_lookup_elem(&queues, &at);
	if (!q)
		return XDP_PASS;
	q->arrivals++;
	what = recognise(ctx, c, &frame);
	if (unlikely(what != OURS)) {
		if (CAPTURE_ALL)
			capture(ctx, frame.now, frame.len);
		return absorb_other(ctx, c, q, &frame, what);
	}
	if (CAPTURE && frame.is_captured)
		capture(ctx, frame.now, frame.len);
	absorb_ours(ctx, c, &frame, queue);
	return XDP_DROP;
}

char license_of_this[] SEC("license") = "Dual MIT/GPL";

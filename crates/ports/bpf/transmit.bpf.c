// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Sends the frames of one port: the kernel runs this program once for each live frame
 * (BPF_PROG_TEST_RUN), and each run fills in the frame that is due, waits until it is, stamps it
 * and sends it. trial::Transmitter says what is to be sent; this is the same walk.
 *
 * Frames are copied anew each time although their pages come back: a device on the same machine
 * gets the page itself and may have written to it.
 */
#include "capture.h"
#include "transmit.h"

/* Waiting is done in pieces of this length; between two the kernel may do other things. */
#define PIECE_NS 16000
/* Only what is less behind than this catches up gently, and only streams with gaps as long as that. */
#define GENTLE_NS 100000
#define GENTLE_GAP_NS 1500
/* Frames of other queues that are passed over at once. */
#define SKIPS 1024
/* More readings of the clock than fit into a piece. */
#define PIECE_READINGS 4096
#define PS_PER_NS 1000
/* FCS, preamble and the smallest gap, which a frame has on the medium. */
#define MEDIUM_BYTES 24
#define MAX_INSERTIONS 64

/* Set before the program is loaded: whether streams are captured. */
const volatile u32 CAPTURE = 0;
/* The queue that sends, and how many the port has: flow n leaves by queue n % QUEUES. */
const volatile u32 QUEUE = 0;
const volatile u32 QUEUES = 1;

struct {
	__uint(type, MAP_TYPE_ARRAY);
	__uint(map_flags, MAP_FLAG_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct transmit_state);
} state SEC(".maps");

struct {
	__uint(type, MAP_TYPE_ARRAY);
	__uint(map_flags, MAP_FLAG_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct transmit_stream);
} streams SEC(".maps");

/* Which stream takes the next departure, over and over. */
struct {
	__uint(type, MAP_TYPE_ARRAY);
	__uint(map_flags, MAP_FLAG_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} order SEC(".maps");

struct {
	__uint(type, MAP_TYPE_ARRAY);
	__uint(map_flags, MAP_FLAG_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct segment);
} segments SEC(".maps");

struct {
	__uint(type, MAP_TYPE_ARRAY);
	__uint(map_flags, MAP_FLAG_MMAPABLE);
	__uint(max_entries, MAX_INSERTIONS);
	__type(key, u32);
	__type(value, struct insertion);
} insertions SEC(".maps");

struct {
	__uint(type, MAP_TYPE_ARRAY);
	__uint(map_flags, MAP_FLAG_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct slot);
} slots SEC(".maps");

struct device {
	u32 ifindex;
	u32 program;
};

struct {
	__uint(type, MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct device);
} device SEC(".maps");

INLINE void advance(struct time *time, const struct time *by)
{
	time->ns += by->ns;
	time->ps += by->ps;
	if (time->ps >= PS_PER_NS) {
		time->ps -= PS_PER_NS;
		time->ns++;
	}
}

INLINE int reached(const struct time *now, const struct time *time)
{
	return now->ns > time->ns || (now->ns == time->ns && now->ps >= time->ps);
}

/* A tester that was held up for a moment is back on schedule no faster than at 5/3 of its rate: what
 * it bunches is as gentle to the device as may be, and no gap after it is off by more than 2/5. Faster
 * streams need all the speed there is to keep up at all. */
INLINE u64 least_gap(u64 intended_ns)
{
	return intended_ns < GENTLE_GAP_NS ? 0 : intended_ns * 154 >> 8;
}

/* When a frame that is due then leaves. What is further behind than `GENTLE_NS` catches up at full
 * speed, or beside a device that takes the processor away all the time a trial would end late. */
INLINE u64 leaves_at(const struct transmit_state *s, u64 due_ns)
{
	u64 gentle_ns = s->last_ns + s->least_gap_ns;

	return gentle_ns > due_ns && gentle_ns < due_ns + GENTLE_NS ? gentle_ns : due_ns;
}

/* After the last frame of a burst the next one leaves when the next burst starts. */
INLINE void end_of_burst(struct transmit_state *s, const struct segment *segment)
{
	if (segment->burst_frames && --s->burst_left == 0) {
		s->burst_left = segment->burst_frames;
		advance(&s->burst_start, &segment->burst_period);
		s->due = s->burst_start;
		s->carried = 0;
	}
}

/* Moves `due` on by the time of a frame of `bytes` on the medium: trial::schedule::Pace. Its own
 * function, so that frames that are evenly spaced are no slower for it. */
static FUNCTION int pace_by_length(struct transmit_state *s, const struct segment *segment, u64 bytes)
{
	struct time gap;
	u64 carried;

	if (!s || !segment || !segment->parts)
		return 0;
	carried = s->carried + segment->part * bytes;
	s->carried = carried % segment->parts;
	gap.ps = segment->spacing.ps * bytes + carried / segment->parts;
	gap.ns = segment->spacing.ns * bytes + gap.ps / PS_PER_NS;
	gap.ps %= PS_PER_NS;
	advance(&s->due, &gap);
	end_of_burst(s, segment);
	return 1;
}

/* The bytes on the medium of a frame; one that is inserted takes as much as a mean one, at least. */
INLINE u64 charge(const struct segment *segment, u32 len, int is_inserted)
{
	u64 bytes = len + MEDIUM_BYTES;

	return is_inserted && bytes < segment->mean_bytes ? segment->mean_bytes : bytes;
}

/* Moves `due` on to the next frame: trial::Departures. */
INLINE void pace(struct transmit_state *s, u32 len, int is_inserted)
{
	const struct time ps = { 0, 1 };
	struct segment *segment;
	u32 index = s->segment;

	segment = bpf_map_lookup_elem(&segments, &index);
	if (!segment)
		return;
	if (unlikely(--s->segment_left == 0)) {
		struct segment *ended = segment;

		index = ++s->segment;
		segment = bpf_map_lookup_elem(&segments, &index);
		if (index >= s->segments || !segment) {
			s->finished = ALL_SENT;
			return;
		}
		if (ended->mean_bytes)
			pace_by_length(s, ended, charge(ended, len, is_inserted));
		else
			s->due = segment->start;
		s->segment_left = segment->frames;
		s->carried = 0;
		s->burst_left = segment->burst_frames;
		s->burst_start = s->due;
		return;
	}
	if (unlikely(segment->mean_bytes)) {
		pace_by_length(s, segment, charge(segment, len, is_inserted));
		return;
	}
	advance(&s->due, &segment->spacing);
	s->carried += segment->part;
	if (s->carried >= segment->parts) {
		s->carried -= segment->parts;
		advance(&s->due, &ps);
	}
	end_of_burst(s, segment);
}

struct insertion_search {
	struct transmit_state *s;
	u32 stream, is_due;
};

/*
 * Whether an insertion takes the departure at hand; its trigger is set to the next time then. A callback and no
 * loop: up to Linux 6.12 the verifier forgets the bounds of an index once a map was asked for it by its address.
 */
static long try_insertion(u32 i, struct insertion_search *search)
{
	struct transmit_state *s = search->s;
	struct insertion *insertion;
	u32 at = i;

	if (i >= s->insertions)
		return 1;
	insertion = bpf_map_lookup_elem(&insertions, &at);
	if (!insertion)
		return 1;
	if (insertion->by_frames) {
		if (s->frame + s->skipped < insertion->next_frame)
			return 0;
		insertion->next_frame += insertion->every_frames;
	} else {
		if (!reached(&s->due, &insertion->next))
			return 0;
		advance(&insertion->next, &insertion->every);
	}
	search->stream = insertion->stream;
	search->is_due = 1;
	return 1;
}

/* The stream that takes the departure at hand; says whether it is inserted. */
INLINE u32 next_stream(struct transmit_state *s, int *is_inserted)
{
	u32 at = s->order_at;
	u64 *index;

	if (unlikely(s->insertions)) {
		struct insertion_search search = { .s = s };

		bpf_loop(MAX_INSERTIONS, try_insertion, &search, 0);
		if (search.is_due) {
			*is_inserted = 1;
			return search.stream;
		}
	}
	index = bpf_map_lookup_elem(&order, &at);
	s->order_at = at + 1 == s->order_len ? 0 : at + 1;
	return index ? *index : 0;
}

INLINE void step_slot(struct transmit_stream *stream)
{
	stream->sequence++;
	stream->slot = stream->slot + 1 == stream->period ? 0 : stream->slot + 1;
}

/*
 * Chooses the frame at hand if it is of this queue; otherwise walks past it, as the queue does that sends it. All
 * queues of a port take the same walk. Says whether there is nothing more to walk past.
 */
INLINE int pass_over(struct transmit_state *s)
{
	struct transmit_stream *stream;
	struct slot *slot = 0;
	int is_inserted = 0;
	u32 index;

	if (s->frame + s->skipped >= s->end) {
		s->finished = STOPPED;
		return 1;
	}
	index = next_stream(s, &is_inserted);
	s->chosen = index;
	s->chosen_is_inserted = is_inserted;
	stream = bpf_map_lookup_elem(&streams, &index);
	if (!stream) {
		s->finished = BROKEN;
		return 1;
	}
	index = stream->first_slot + stream->slot;
	if (index % QUEUES == QUEUE) {
		s->is_chosen = 1;
		return 1;
	}
	slot = bpf_map_lookup_elem(&slots, &index);
	step_slot(stream);
	s->skipped++;
	pace(s, slot ? slot->len : 0, is_inserted);
	return s->finished != RUNNING;
}

struct walk {
	struct transmit_state *s;
};

static long pass_over_one(u32 i, struct walk *walk)
{
	return pass_over(walk->s);
}

/* Writes the signature into the last bytes of a frame of `len` bytes. */
INLINE int stamp(struct xdp_md *ctx, const struct transmit_state *s,
		 const struct transmit_stream *stream, const struct slot *slot, u32 len, u64 now)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	u64 head = stream->id;
	u32 sequence = stream->sequence;
	void *trailer;
	u16 check;
	u32 tag;

	if (likely(slot->form == FORM_FULL)) {
		trailer = data + ((len - FULL_BYTES) & 0xfff);
		if (trailer + FULL_BYTES > data_end)
			return 0;
		head <<= FULL_STREAM_AT;
		head |= now & ((1ULL << FULL_TIME_BITS) - 1);
		tag = tag_of(s->hash, head, s->tag_blocks[FORM_FULL] | sequence);
		check = check_for(s->targets[FORM_FULL], words_of(head) + sequence + tag);
		NUMBER_AT(u64, trailer, HEAD_AT) = be64(head);
		NUMBER_AT(u32, trailer, SEQUENCE_AT) = be32(sequence);
		NUMBER_AT(u32, trailer, TAG_AT) = be32(tag);
	} else if (slot->form == FORM_SHORT) {
		trailer = data + ((len - SHORT_BYTES) & 0xfff);
		if (trailer + SHORT_BYTES > data_end)
			return 0;
		head <<= SHORT_STREAM_AT;
		head |= (now & ((1ULL << SHORT_TIME_BITS) - 1)) << 8;
		head |= (u8)tag_of(s->hash, head, s->tag_blocks[FORM_SHORT] | sequence);
		check = check_for(s->targets[FORM_SHORT], words_of(head) + sequence);
		NUMBER_AT(u64, trailer, HEAD_AT) = be64(head);
		NUMBER_AT(u32, trailer, SEQUENCE_AT) = be32(sequence);
	} else if (slot->form == FORM_COMPACT) {
		u16 target = fold((u64)s->targets[FORM_COMPACT] + stream->id);

		trailer = data + ((len - COMPACT_BYTES) & 0xfff);
		if (trailer + COMPACT_BYTES > data_end)
			return 0;
		check = check_for(target, sequence);
		NUMBER_AT(u32, trailer, COMPACT_SEQUENCE_AT) = be32(sequence);
	} else {
		return 1;
	}
	NUMBER_AT(u16, trailer, CHECK_AT) = be16(check);
	return 1;
}

/* Short frames are copied here, a word at a time: a call costs more than they do. */
#define COPY_WORDS (SLOT_BYTES < 128 ? SLOT_BYTES / 8 : 16)

INLINE int copy_short(struct xdp_md *ctx, const struct slot *slot, u32 len)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	u64 *to = data;
	const u64 *from = (const void *)slot->bytes;
	u32 last = (len - sizeof(*to)) & 0x7f;

	for (u32 i = 0; i < COPY_WORDS; i++) {
		if ((void *)(to + i + 1) > data_end)
			break;
		to[i] = from[i];
	}
	/* What is left is less than a word: the last one overlaps the one before. */
	if (last > SLOT_BYTES - sizeof(*to) || data + last + sizeof(*to) > data_end)
		return 0;
	NUMBER_AT(u64, data, last) = NUMBER_AT(const u64, slot->bytes, last);
	return 1;
}

/* Makes the live frame hold the slot's bytes. */
INLINE int fill(struct xdp_md *ctx, struct slot *slot, u32 len)
{
	u32 has = ctx->data_end - ctx->data;

	if (has != len && bpf_xdp_adjust_tail(ctx, (int)len - (int)has))
		return 0;
	if (len <= COPY_WORDS * sizeof(u64))
		return copy_short(ctx, slot, len);
	return bpf_xdp_store_bytes(ctx, 0, slot->bytes, len) == 0;
}

struct wait {
	u64 now;
	u64 until;
	const struct clock_mapping *clock;
};

INLINE u64 read_time(const struct clock_mapping *clock)
{
	u64 now = bpf_ktime_get_ns();

	return MAPS_CLOCK && clock ? mapped(clock, now) : now;
}

static long read_clock(u32 reading, struct wait *wait)
{
	wait->now = read_time(MAPS_CLOCK ? wait->clock : 0);
	return wait->now >= wait->until;
}

/* Returns the time at which `until`, which is at most a piece away, was seen to have come. */
INLINE u64 wait_until(const struct transmit_state *s, u64 until, u64 now)
{
	struct wait wait = { now, until, MAPS_CLOCK ? &s->clock : 0 };

	if (now < until)
		bpf_loop(PIECE_READINGS, read_clock, &wait, 0);
	return wait.now;
}

/* Books a frame as sent. trial::TransmitReport says what lateness is. */
INLINE void count(struct transmit_state *s, u32 len, u64 now, u64 due_ns)
{
	u64 late_ns = now - due_ns;
	u64 late_ps = late_ns * PS_PER_NS + (s->due.ps ? PS_PER_NS - s->due.ps : 0);

	if (!s->frame++)
		s->first_ns = now;
	s->last_ns = now;
	s->bytes += len + 4;
	s->late_frames += late_ps > s->late_after_ps;
	record(&s->lateness, late_ns);
	/* trial::Slips::observe */
	if (unlikely(late_ns > s->credit_ns)) {
		s->slipped_ns += late_ns - s->credit_ns;
		s->slips++;
	}
}

SEC("xdp") int transmit(struct xdp_md *ctx)
{
	struct transmit_stream *stream;
	struct transmit_state *s;
	struct slot *slot;
	u64 now, due_ns, go_ns;
	u32 index = 0, len;
	int is_inserted = 0;

	s = bpf_map_lookup_elem(&state, &index);
	if (!s || s->finished)
		return XDP_DROP;
	now = read_time(&s->clock);
	if (s->stop || now > s->stop_at_ns) {
		s->finished = STOPPED;
		return XDP_DROP;
	}
	if (QUEUES > 1 && !s->is_chosen) {
		struct walk walk = { s };

		/* Every other frame is of this queue, as a rule: a call costs more than the walk. */
		if (!pass_over(s) && !pass_over(s))
			bpf_loop(SKIPS, pass_over_one, &walk, 0);
		if (s->finished || !s->is_chosen)
			return XDP_DROP;
	}
	/* A frame is due at the first whole nanosecond that is not before its time. */
	due_ns = s->start_ns + s->slipped_ns + s->due.ns + !!s->due.ps;
	go_ns = leaves_at(s, due_ns);
	if (go_ns > now + PIECE_NS) {
		wait_until(s, now + PIECE_NS, now);
		return XDP_DROP;
	}

	if (QUEUES > 1) {
		index = s->chosen;
		is_inserted = s->chosen_is_inserted;
		s->is_chosen = 0;
	} else {
		index = next_stream(s, &is_inserted);
	}
	stream = bpf_map_lookup_elem(&streams, &index);
	if (!stream)
		goto broken;
	index = stream->first_slot + stream->slot;
	slot = bpf_map_lookup_elem(&slots, &index);
	if (!slot)
		goto broken;
	len = slot->len;
	if (len < FULL_BYTES || len > SLOT_BYTES || !fill(ctx, slot, len))
		goto broken;
	now = wait_until(s, go_ns, now);
	if (now < go_ns || !stamp(ctx, s, stream, slot, len, now))
		goto broken;

	if (CAPTURE && stream->is_captured)
		capture(ctx, now, len);
	if (bpf_redirect_map(&device, 0, XDP_ABORTED) != XDP_REDIRECT) {
		s->finished = NO_DEVICE;
		return XDP_DROP;
	}
	step_slot(stream);
	count(s, len, now, due_ns);
	due_ns = s->due.ns;
	pace(s, len, is_inserted);
	s->least_gap_ns = least_gap(s->due.ns - due_ns);
	return XDP_REDIRECT;

broken:
	s->finished = BROKEN;
	return XDP_DROP;
}

char license_of_this[] SEC("license") = "Dual MIT/GPL";

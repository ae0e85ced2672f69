'use strict';
// One page over the records of runs. The stream of a record carries everything, from its beginning; what is shown
// follows from it alone, so that a page that is loaded again shows the same.

const $ = selector => document.querySelector(selector);
// Rows that are in the tables at once; charts show more.
const ROWS = 200, POINTS = 600;
const VERDICTS = { passed: 'passed', failed: 'failed', measured: 'measured', invalid: 'INVALID' };
const STATES = { running: 'running', stopping: 'stopping', complete: 'complete', invalid: 'no valid result',
  stopped: 'stopped', cut_off: 'cut off' };

// What is known of the record that is open.
let open = null, source = null, record = null, listing = { runs: [], job: null };
const chosen = new Set();

const fresh = () => ({ started: null, traffic: null, test: null, trial: null, trials: [], seconds: [], outcomes: [],
  messages: [], load: null, paused: false, finished: null, summary: null, chosenTrial: null, current: false, at: 0 });

// Numbers in words.
const count = value => value == null ? '-' : Math.round(value).toLocaleString('en-US');
const fps = value => value == null ? '-' : value >= 100 ? count(Math.floor(value)) : String(+value.toPrecision(3));
const percent = ratio => ratio == null ? '-' : ratio === 0 ? '0 %'
  : (Math.abs(ratio) < 1e-5 ? (ratio * 100).toExponential(1) : String(+(ratio * 100).toPrecision(3))) + ' %';
const time = ns => ns == null ? '-' : ns < 1e3 ? `${+ns.toPrecision(3)} ns` : ns < 1e6 ? `${+(ns / 1e3).toPrecision(4)} us`
  : ns < 1e9 ? `${+(ns / 1e6).toPrecision(4)} ms` : `${+(ns / 1e9).toPrecision(4)} s`;
const span = s => s == null ? '-' : s < 10 ? `${+s.toPrecision(2)} s` : s < 120 ? `${Math.round(s)} s`
  : s < 7200 ? `${Math.floor(s / 60)} min ${Math.round(s % 60)} s` : `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
const size = text => /^\d+$/.test(text) ? `${text} bytes` : text;
const short = value => { const a = Math.abs(value);
  return a >= 1e9 ? +(value / 1e9).toPrecision(3) + 'G' : a >= 1e6 ? +(value / 1e6).toPrecision(3) + 'M'
    : a >= 1e3 ? +(value / 1e3).toPrecision(3) + 'k' : String(+value.toPrecision(3)); };

function make(tag, attributes = {}, ...children) {
  const svg = ['svg', 'path', 'line', 'text', 'circle', 'rect', 'title', 'g'].includes(tag);
  const element = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Asks the server; an error is told in its own words.
async function ask(path, body) {
  const request = body === undefined ? {} : { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  const answer = await fetch(path, request);
  if (answer.status === 401 && path !== '/api/login') $('#login').hidden = false;
  if (answer.status === 204) return null;
  const text = await answer.text();
  const value = (answer.headers.get('Content-Type') || '').startsWith('application/json') ? JSON.parse(text) : text;
  if (!answer.ok) throw new Error([value.error || answer.statusText, value.help].filter(Boolean).join('. '));
  return value;
}

function refuse(error) {
  $('#refused').hidden = !error;
  $('#refused').textContent = error ? error.message : '';
}

// Events of a record.
const TAKE = {
  reset() { record = fresh(); },
  current() { record.current = true; },
  run_started(e) { record.started = e; record.finished = null; },
  test_started(e) { record.test = e; },
  trial_started(e) { record.trial = e; record.at = performance.now(); },
  trial(e) { record.trials.push(e); },
  outcome(e) {
    const same = o => o.test === e.test && o.frame_size === e.frame_size && o.figures[0]?.name === e.figures[0]?.name;
    const at = record.outcomes.findIndex(same);
    if (at < 0) record.outcomes.push(e); else record.outcomes[at] = e;
  },
  self_test_finished() {},
  test_repeated(e) { record.messages.push(['warn', `Repeated: ${e.test}, ${e.frame_size}: `, e.because]); },
  consistency(e) {
    for (const words of e.contradictions) record.messages.push(['warn', 'Contradiction: ', words]);
    for (const outcome of e.revised) TAKE.outcome(outcome);
  },
  warning(e) { record.messages.push(['warn', 'Warning: ', e.text]); },
  note(e) { record.messages.push(['', 'Note: ', e.text]); },
  unreadable(e) { record.messages.push(['bad', `Line ${e.line} of the record cannot be read: `, e.detail]); },
  run_finished(e) { record.finished = e; record.trial = null; },
  comparison() {},
  start(e) { record.traffic = e; record.load = e.rate_per_port_fps; },
  load(e) { record.load = e.rate_per_port_fps; record.paused = false; },
  paused() { record.paused = true; },
  second(e) { record.paused = false; record.seconds.push(e); },
  summary(e) { record.summary = e; },
};

function take(message) {
  const event = JSON.parse(message.data);
  const known = TAKE[event.kind];
  if (known) known(event); else record.messages.push(['warn', 'This page does not know the event ', event.kind]);
  if (record.current) draw();
}

function follow(id) {
  if (source) source.close();
  source = null; open = id; record = fresh();
  if (id) history.replaceState(null, '', `#${encodeURIComponent(id)}`);
  connect();
  draw();
}

// A hidden page holds no connection: a browser has six for a host.
function connect() {
  if (source || !open || document.hidden) return;
  const from = record.lastId ? `?after=${record.lastId}` : '';
  const mine = source = new EventSource(`/api/runs/${encodeURIComponent(open)}/events${from}`);
  mine.onopen = () => link('live', false);
  mine.onmessage = message => {
    if (mine !== source) return;
    if (message.lastEventId) record.lastId = message.lastEventId;
    take(message);
  };
  mine.onerror = () => {
    link('connection lost; connecting again', true);
    if (mine.readyState === EventSource.CLOSED && mine === source) { source = null; setTimeout(connect, 1000); }
  };
}
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) { connect(); refresh(); } else if (source) { source.close(); source = null; }
});

function link(text, lost) { $('#link').textContent = text; $('#link').classList.toggle('lost', lost); }

// The list of runs, and the child of the server.
async function refresh() {
  if (document.hidden) return;
  try {
    listing = await ask('/api/state');
    $('#login').hidden = true;
    if (!source || source.readyState === EventSource.OPEN) link('live', false);
    if (!open) {
      const wanted = decodeURIComponent(location.hash.slice(1));
      const first = listing.runs.find(run => run.id === wanted) || listing.runs.find(run => run.state === 'running') || listing.runs[0];
      if (first) follow(first.id);
    }
    draw();
  } catch (error) { link(error instanceof TypeError ? 'no connection to the server' : error.message, true); }
}

function entry() { return listing.runs.find(run => run.id === open) || null; }
function job() { return listing.job && listing.job.id === open ? listing.job : null; }
function stateOf(run, child) {
  if (child && child.state !== 'ended') return child.state;
  return run ? run.state : 'running';
}

let due = false;
function draw() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => { due = false; drawNow(); drawRuns(); });
}

function figure(label, value, unit = '', detail = '') {
  return make('div', { class: 'figure' }, make('span', { class: 'label' }, label),
    make('span', { class: 'value' }, value, unit ? make('small', {}, ' ' + unit) : ''), make('span', { class: 'detail' }, detail));
}

function drawTestBed(part) {
  const bed = $('#test-bed');
  if (bed.part === part) return;
  bed.part = part;
  // Made by the report, which escapes everything in it.
  bed.innerHTML = part;
}

function drawNow() {
  $('#now').hidden = !open;
  if (!open) return;
  const run = entry(), child = job(), state = stateOf(run, child);
  const device = record.started?.device || record.traffic?.device || run?.device || '';
  $('#title').textContent = device || open;
  const facts = [open];
  if (record.started) facts.push(record.started.program, record.started.ports.map(port => `${port.name}: ${port.type}, ${port.line_rate}${port.is_physical ? '' : ' nominal'}`).join('; '));
  if (record.started?.is_virtual) facts.push('simulated: virtual time');
  if (child) facts.push(child.command);
  drawTestBed(record.started?.test_bed || '');
  $('#facts').replaceChildren(...facts.map(fact => make('span', {}, fact)));
  $('#state').textContent = STATES[state] + (state === 'running' && record.paused ? ', paused' : '');
  $('#state').className = `chip ${state}`;
  const show = (name, yes) => { $(`[data-do=${name}]`).hidden = !yes; };
  const runs = child && child.state === 'running';
  show('stop', runs);
  show('kill', child && child.state === 'stopping');
  show('resume', run && run.kind === 'run' && ['stopped', 'cut_off'].includes(state));
  for (const name of ['pause', 'slower', 'faster']) show(name, runs && child.takes_keys);
  $('[data-do=pause]').textContent = record.paused ? 'Continue' : 'Pause';
  const path = `/runs/${encodeURIComponent(open)}/`;
  $('#report').hidden = !run || run.kind === 'traffic';
  $('#report').href = path + 'report.html';
  $('#record').href = path + (run?.kind === 'traffic' ? 'traffic.jsonl' : 'events.jsonl');
  if (record.traffic) drawTraffic(); else drawRun(state);
  drawMessages(state);
  $('#log').hidden = !child || !child.log.length;
  if (child) $('#log pre').textContent = child.log.join('\n');
}

function drawRun(state) {
  const { trial, test, trials } = record;
  const last = trials[trials.length - 1];
  const goes = state === 'running' && trial && !record.finished;
  $('#doing').textContent = goes
    ? `Trial ${trial.number}: ${trial.label || trial.test}; ${fps(trial.intended_fps)} frames/s per port for ${span(trial.duration_s)}`
      + (trial.attempt > 1 ? `, attempt ${trial.attempt}` : '') + `; ${span(trial.remaining_s)} left` : '';
  const total = record.started?.estimate_s;
  $('#progress').hidden = !(goes && total);
  if (goes && total) $('#progress').value = Math.max(0, Math.min(1, 1 - trial.remaining_s / total));
  const bounds = trial?.bounds, invalid = trials.filter(t => t.verdict === 'invalid').length;
  const figures = [];
  if (last) {
    figures.push(figure('Sent, last trial', fps(last.offered_fps), 'frames/s', `of ${fps(last.intended_fps)} intended`),
      figure('Received, last trial', fps(last.forwarded_fps), 'frames/s'),
      figure('Loss, last trial', percent(last.loss_ratio), '', `${count(last.lost_frames)} of ${count(last.expected_frames)} frames`),
      figure('Latency, last trial', last.latency ? time(last.latency.p50_ns) : '-', 'median', last.latency ? `p99 ${time(last.latency.p99_ns)}, max ${time(last.latency.max_ns)}` : 'not measured'));
  }
  if (bounds && goes) figures.push(figure('Search', `${bounds.lower == null ? '?' : short(bounds.lower)} .. ${bounds.upper == null ? '?' : short(bounds.upper)}`, bounds.unit, 'passed .. did not pass'));
  figures.push(figure('Trials', count(trials.length), '', `${count(invalid)} invalid; they decide nothing`));
  $('#figures').replaceChildren(...figures);
  const shown = trials.slice(-POINTS);
  const of = test ? trials.filter(t => t.test === test.test && t.frame_size === test.frame_size).slice(-POINTS) : shown;
  const marks = all => all.map(t => ({ x: t.number, y: t.intended_per_port_fps, as: t.verdict, say: `trial ${t.number}: ${fps(t.intended_per_port_fps)} frames/s, ${VERDICTS[t.verdict]}` }));
  const line = (all, value) => all.map(t => [t.number, value(t)]);
  $('#charts').replaceChildren(...(trials.length ? [
    chart(test ? `Load per port: ${test.test}, ${size(test.frame_size)}` : 'Load per port', 'trial', short, { marks: marks(of), band: goes && bounds && /fps/.test(bounds.unit) ? bounds : null }),
    chart('Frames per second, all ports', 'trial', short, { lines: [['sent', line(shown, t => t.offered_fps)], ['received', line(shown, t => t.forwarded_fps)]] }),
    chart('Loss', 'trial', percent, { lines: [['loss ratio', line(shown, t => t.loss_ratio)]] }),
    chart('Latency', 'trial', time, { lines: [['median', line(shown, t => t.latency?.p50_ns)], ['p99', line(shown, t => t.latency?.p99_ns)]] }),
  ] : []));
  drawTrials();
  $('#seconds').hidden = true;
  $('#outcomes').hidden = !record.outcomes.length;
  $('#outcomes tbody').replaceChildren(...record.outcomes.flatMap(outcome => outcome.figures.slice(0, 6).map((fig, at) => make('tr', {},
    make('td', {}, at ? '' : outcome.test), make('td', {}, at ? '' : size(outcome.frame_size)), make('td', {}, fig.name),
    make('td', { class: outcome.invalid.length ? 'num bad' : 'num' }, outcome.invalid.length ? `no valid result: ${outcome.invalid.join('; ')}` : `${fig.value} ${fig.unit}`)))));
}

function drawTrials() {
  const { trials } = record;
  $('#trials').hidden = !trials.length;
  $('#shown').textContent = trials.length > ROWS ? `The last ${ROWS} of ${count(trials.length)}; the report has all.` : '';
  const body = $('#trials tbody'), rows = trials.slice(-ROWS).reverse();
  const want = record.chosenTrial ?? trials[trials.length - 1]?.number;
  const key = `${open} ${trials.length} ${want}`;
  if (body.dataset.key !== key) {
    body.dataset.key = key;
    body.replaceChildren(...rows.map(trial => {
      const row = make('tr', { class: trial.number === want ? 'chosen' : '', tabindex: 0 });
      const cell = (text, kind = 'num') => row.append(make('td', { class: kind }, text));
      cell(count(trial.number)); cell(trial.test, ''); cell(trial.frame_size); cell(fps(trial.intended_per_port_fps)); cell(fps(trial.forwarded_fps));
      cell(count(trial.lost_frames)); cell(percent(trial.loss_ratio)); cell(time(trial.latency?.p50_ns)); cell(time(trial.latency?.p99_ns));
      cell(VERDICTS[trial.verdict] + (trial.faults.length && trial.verdict === 'invalid' ? `: ${trial.faults[0]}` : ''), trial.verdict);
      const choose = () => { record.chosenTrial = trial.number; draw(); };
      row.onclick = choose; row.onkeydown = event => { if (event.key === 'Enter') choose(); };
      return row;
    }));
  }
  drawBalance(want);
}

let asked = '';
async function drawBalance(number) {
  $('#balance').hidden = number == null;
  const key = `${open}/${number}`;
  if (number == null || asked === key) return;
  asked = key;
  const id = open;
  try {
    const part = await ask(`/api/runs/${encodeURIComponent(id)}/trials/${number}/balance`);
    // Made by the report, which escapes everything in it.
    if (asked === key) $('#balance div').innerHTML = part;
  } catch (error) { if (asked === key) { $('#balance div').textContent = error.message; asked = ''; } }
}

function drawTraffic() {
  const { seconds, summary } = record, last = seconds[seconds.length - 1];
  $('#doing').textContent = record.traffic.streams.map(stream => `${stream.traffic}, ${size(stream.frame_size)}`).join('; ')
    + `; ${fps(record.load)} frames/s from each of ${record.traffic.sending_ports} port${record.traffic.sending_ports === 1 ? '' : 's'}`;
  $('#progress').hidden = true;
  const rate = (s, name) => s.length_s > 0 ? s[name] / s.length_s : null;
  const loss = s => s.sent_frames > 0 ? s.lost_frames / s.sent_frames : null;
  const sum = name => seconds.reduce((all, s) => all + s[name], 0);
  const figures = [];
  if (last) figures.push(figure('Sent', fps(rate(last, 'sent_frames')), 'frames/s', `of ${fps(record.load * record.traffic.sending_ports)}`),
    figure('Received', fps(rate(last, 'received_frames')), 'frames/s'),
    figure('Loss', percent(loss(last)), 'last second', `${count(last.lost_frames)} of ${count(last.sent_frames)} frames`),
    figure('Latency', last.latency ? time(last.latency.p50_ns) : '-', 'median', last.latency ? `p99 ${time(last.latency.p99_ns)}, max ${time(last.latency.max_ns)}` : 'not measured'),
    figure('Lost in all', count(summary ? summary.lost_frames : sum('lost_frames')), 'frames', `of ${count(summary ? summary.sent_frames : sum('sent_frames'))} sent; ` + (summary ? 'exact' : 'so far')));
  if (summary) figures.push(figure('Tester', summary.tester_kept_up ? 'kept up' : 'FELL SHORT', '', summary.tester_fell_short.join('; ')));
  $('#figures').replaceChildren(...figures);
  const shown = seconds.slice(-POINTS), line = value => shown.map(s => [s.until_s, value(s)]);
  $('#charts').replaceChildren(...(seconds.length ? [
    chart('Frames per second, all ports', 's', short, { lines: [['sent', line(s => rate(s, 'sent_frames'))], ['received', line(s => rate(s, 'received_frames'))]] }),
    chart('Loss', 's', percent, { lines: [['loss ratio', line(loss)]] }),
    chart('Latency', 's', time, { lines: [['median', line(s => s.latency?.p50_ns)], ['p99', line(s => s.latency?.p99_ns)], ['max', line(s => s.latency?.max_ns)]] }),
  ] : []));
  for (const name of ['trials', 'balance', 'outcomes']) $('#' + name).hidden = true;
  $('#seconds').hidden = !seconds.length;
  $('#shown-seconds').textContent = seconds.length > ROWS ? `The last ${ROWS} of ${count(seconds.length)}; the record has all.` : '';
  $('#seconds tbody').replaceChildren(...seconds.slice(-ROWS).reverse().map(s => make('tr', {},
    ...[`${+s.until_s.toFixed(1)} s`, count(s.sent_frames), count(s.received_frames), count(s.lost_frames), count(s.reordered_frames),
      time(s.latency?.p50_ns), time(s.latency?.p99_ns), time(s.latency?.max_ns)].map(text => make('td', { class: 'num' }, text)))));
}

function drawMessages(state) {
  const all = [...record.messages];
  const run = entry();
  if (run?.unreadable) all.push(['bad', 'This run: ', run.unreadable]);
  if (run?.kind === 'comparison') all.push(['', 'A comparison of `netanvil versus`: ', 'its report has the result.']);
  if (record.finished?.stopped_by) all.push(['bad', 'Incomplete: ', record.finished.stopped_by]);
  for (const test of record.finished?.invalid_tests || []) all.push(['bad', 'No valid result: ', test]);
  if (state === 'cut_off' && record.current) all.push(['bad', 'Incomplete: ', 'the record ends without an end.']);
  $('#messages').replaceChildren(...all.slice(-20).map(([kind, begin, text]) => make('p', { class: `banner ${kind}` }, make('strong', {}, begin), text)));
}

// The next number up that is easily cut in four.
function round(value) {
  if (value <= 0) return 0;
  const ten = 10 ** Math.floor(Math.log10(value));
  return ten * [1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10].find(step => step * ten >= value * (1 - 1e-9));
}

// A chart over one axis: lines, or marks with the band that a search has left.
function chart(title, xTitle, label, { lines = [], marks = [], band = null }) {
  const W = innerWidth < 640 ? 340 : 480, H = 190, L = 62, R = 8, T = 10, B = 26;
  const all = [...lines.flatMap(([, points]) => points), ...marks.map(mark => [mark.x, mark.y])].filter(([, y]) => y != null);
  if (band) for (const y of [band.lower, band.upper]) if (y != null) all.push([all[0]?.[0] ?? 0, y]);
  const figure = make('figure', {}, make('figcaption', {}, title));
  if (!all.length) { figure.append(make('p', { class: 'about' }, 'not measured yet')); return figure; }
  const xs = all.map(point => point[0]), ys = all.map(point => point[1]);
  let [x0, x1] = [Math.min(...xs), Math.max(...xs)], [y0, y1] = [Math.min(0, ...ys), Math.max(...ys)];
  if (x0 === x1) { x0 -= .5; x1 += .5; }
  if (y0 === y1) y1 = y0 + .01;
  [y0, y1] = [-round(-y0), round(y1)];
  const X = x => L + (x - x0) / (x1 - x0) * (W - L - R), Y = y => H - B - (y - y0) / (y1 - y0) * (H - T - B);
  const svg = make('svg', { viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': title });
  for (const part of [0, .25, .5, .75, 1]) {
    const y = y0 + (y1 - y0) * part;
    svg.append(make('line', { class: 'grid', x1: L, x2: W - R, y1: Y(y), y2: Y(y) }),
      make('text', { x: L - 6, y: Y(y) + 4, 'text-anchor': 'end' }, label(y)));
  }
  const whole = value => xTitle === 'trial' ? String(Math.round(value)) : String(+value.toPrecision(4));
  svg.append(make('text', { x: L, y: H - 8 }, whole(Math.min(...xs))), make('text', { x: W - R, y: H - 8, 'text-anchor': 'end' }, xTitle === 'trial' ? `trial ${whole(Math.max(...xs))}` : `${whole(Math.max(...xs))} ${xTitle}`));
  if (band) {
    const [top, bottom] = [Y(band.upper ?? y1), Y(band.lower ?? y0)];
    svg.append(make('rect', { class: 'band', x: L, width: W - L - R, y: top, height: Math.max(1, bottom - top) },
      make('title', {}, `the search: ${band.lower ?? '?'} passed, ${band.upper ?? '?'} did not`)));
  }
  lines.forEach(([, points], number) => {
    let path = '', joined = false;
    for (const [x, y] of points) {
      if (y == null) { joined = false; continue; }
      path += `${joined ? 'L' : 'M'}${X(x).toFixed(1)} ${Y(y).toFixed(1)}`;
      joined = true;
    }
    const only = points.filter(point => point[1] != null);
    if (only.length === 1) path += 'h3';
    svg.append(make('path', { class: `s${number}`, d: path || 'M0 0' }));
  });
  for (const { x, y, as, say } of marks) svg.append(mark(X(x), Y(y), as, say));
  figure.append(svg);
  const keys = lines.length > 1 ? lines.map(([name], number) => make('li', {}, make('svg', { viewBox: '0 0 24 10' }, make('path', { class: `s${number}`, d: 'M0 5h24' })), name))
    : [...new Set(marks.map(one => one.as))].map(as => make('li', {}, make('svg', { viewBox: '0 0 24 10' }, mark(12, 5, as, '')), VERDICTS[as]));
  if (keys.length) figure.append(make('ul', { class: 'keys' }, ...keys));
  return figure;
}

// A shape for each verdict, since not everybody sees the colours.
function mark(x, y, as, say) {
  const d = { passed: `M${x - 4} ${y + 4}h8l-4-8z`, failed: `M${x - 4} ${y - 4}h8l-4 8z`,
    invalid: `M${x - 4} ${y - 4}l8 8m-8 0l8-8` }[as] || `M${x - 3.5} ${y}l3.5-3.5 3.5 3.5-3.5 3.5z`;
  return make('path', { class: as, d }, make('title', {}, say));
}

function drawRuns() {
  const runs = listing.runs;
  $('#count').textContent = runs.length ? `${count(runs.length)} in the folder` : 'none in the folder yet';
  for (const id of [...chosen]) if (!runs.some(run => run.id === id)) chosen.delete(id);
  const key = JSON.stringify([runs.slice(0, ROWS), open, [...chosen], listing.job && [listing.job.id, listing.job.state]]);
  const body = $('#runs tbody');
  if (body.dataset.key === key) return;
  body.dataset.key = key;
  body.replaceChildren(...runs.slice(0, ROWS).map(run => {
    const box = make('input', { type: 'checkbox', 'aria-label': `compare ${run.id}` });
    box.checked = chosen.has(run.id); box.disabled = run.kind !== 'run';
    box.onchange = () => { if (box.checked) chosen.add(run.id); else chosen.delete(run.id); draw(); };
    const link = make('a', { href: `#${encodeURIComponent(run.id)}` }, run.id);
    link.onclick = event => { event.preventDefault(); follow(run.id); scrollTo(0, 0); };
    const child = listing.job && listing.job.id === run.id ? listing.job : null;
    const state = stateOf(run, child);
    const report = run.kind === 'traffic' ? '' : make('a', { href: `/runs/${encodeURIComponent(run.id)}/report.html`, target: '_blank', rel: 'noopener' }, 'report');
    return make('tr', { class: run.id === open ? 'chosen' : '' }, make('td', {}, box), make('td', {}, link),
      make('td', {}, run.device || run.unreadable), make('td', {}, make('span', { class: `chip ${state}` }, STATES[state])), make('td', {}, report));
  }));
  $('#compare').disabled = chosen.size !== 2;
}

$('#compare').onclick = () => {
  // The older one first: the list begins with the latest.
  const [after, before] = listing.runs.map(run => run.id).filter(id => chosen.has(id));
  window.open(`/compare?${new URLSearchParams({ before, after })}`, '_blank', 'noopener');
};

$('#start').onsubmit = async event => {
  event.preventDefault();
  const button = $('#start button');
  button.disabled = true;
  refuse(null);
  try {
    const child = await ask('/api/runs', { command: $('#command').value || $('#command').placeholder });
    await refresh();
    follow(child.id);
  } catch (error) { refuse(error); }
  button.disabled = false;
};

$('#controls').onclick = async event => {
  const what = event.target.dataset?.do;
  if (!what) return;
  const path = `/api/runs/${encodeURIComponent(open)}/`;
  const keys = { pause: 'p', slower: '/', faster: '*' }[what];
  refuse(null);
  try {
    if (keys) await ask(path + 'keys', { keys });
    else if (what === 'resume') await ask(path + 'resume', {});
    else await ask(path + 'stop', what === 'kill' ? { kill: true } : {});
    await refresh();
    if (what === 'resume') connect();
  } catch (error) { refuse(error); }
};

$('#login').onsubmit = async event => {
  event.preventDefault();
  try { await ask('/api/login', { token: $('#token').value }); $('#token').value = ''; await refresh(); connect(); } catch (error) { link(error.message, true); }
};

addEventListener('hashchange', () => { const id = decodeURIComponent(location.hash.slice(1)); if (id && id !== open) follow(id); });
refresh();
setInterval(refresh, 1000);

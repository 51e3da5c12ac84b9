// Which process ran which trial, when: a lane for each process, where several worked or trials ran beside each other.
'use strict';
const unknownWorker = (timeline) => (timeline.workers.length > 1 ? 'not known' : 'this search');

// "process 7 on host.example": the number alone where all ran on one machine, and no more of the host than tells it from others.
function shortNames(timeline) {
  const parts = timeline.workers.map(({ name }) => [name, /^process (.+) on (.+)$/.exec(name)]);
  const hosts = [...new Set(parts.map(([, match]) => match && match[2]).filter(Boolean))], first = (host) => host.split('.')[0];
  const host = new Set(hosts.map(first)).size === hosts.length ? first : (whole) => whole;
  return new Map(parts.map(([name, match]) => [name, !name ? unknownWorker(timeline) : !match ? name : hosts.length === 1 ? `process ${match[1]}` : `${host(match[2])}, process ${match[1]}`]));
}

// 75.5 -> "1:15"; below two minutes seconds.
function clock(x) {
  if (x < 120) return `${number(x, 3)} s`;
  const two = (part) => String(Math.floor(part)).padStart(2, '0');
  return x < 3600 ? `${Math.floor(x / 60)}:${two(x % 60)}` : `${Math.floor(x / 3600)}:${two((x % 3600) / 60)}:${two(x % 60)}`;
}

// Everything that takes time, as {worker, begin, end, state, …}. What is not over yet ends where the page does.
function runsOf(timeline) {
  const again = new Set(timeline.lost.map((lost) => lost.trial));
  const runs = search.trials.filter((trial) => isNumber(trial.start_s) && isNumber(trial.seconds)).map((trial) => ({
    worker: trial.worker || '', begin: trial.start_s, end: trial.state === 'duplicate' ? trial.start_s : trial.start_s + trial.seconds, state: trial.state, trial, again: again.has(trial.number) && trial.state !== 'duplicate' }));
  for (const lost of timeline.lost) if (isNumber(lost.start_s)) runs.push({ worker: lost.worker, begin: lost.start_s, end: Math.max(lost.start_s, lost.found_s), state: 'lost', lost });
  const now = Math.max(0, ...runs.map((run) => run.end), ...timeline.running.map((one) => one.start_s));
  for (const one of timeline.running) if (search.running) runs.push({ worker: one.worker, begin: one.start_s, end: now, state: 'running', running: one });
  return runs.sort((a, b) => a.begin - b.begin);
}

// Rows of the plot: each process has as many as it ran trials at a time.
function lanesOf(timeline, runs) {
  const names = shortNames(timeline), rows = [];
  for (const worker of timeline.workers) {
    const free = [];
    for (const run of runs) {
      if (run.worker !== worker.name) continue;
      let lane = free.findIndex((until) => until <= run.begin + 1e-6);
      if (lane < 0) lane = free.push(0) - 1;
      free[lane] = run.end;
      run.row = rows.length + lane;
    }
    free.forEach((_, lane) => rows.push(lane ? '' : names.get(worker.name) + (isNumber(worker.share) ? ` · ${percent(worker.share, 0)}` : '')));
  }
  return rows;
}

// A search that was continued the next day: times in which nothing ran, and that would leave the rest no room, are cut out. Gives
// [{from, length}], and what turns seconds into places on the axis and back.
function withoutPauses(runs) {
  const cuts = [];
  let until = 0, busy = 0;
  for (const run of runs) {
    if (run.begin > until) cuts.push({ from: until, length: run.begin - until });
    busy += Math.max(0, run.end - Math.max(until, run.begin));
    until = Math.max(until, run.end);
  }
  const long = cuts.filter((cut) => cut.length > Math.max(60, busy / 5));
  const before = (x) => long.reduce((sum, cut) => sum + (cut.from < x ? cut.length : 0), 0);
  return { cuts: long, place: (x) => x - before(x), seconds: (place) => long.reduce((x, cut) => (cut.from < x ? x + cut.length : x), place) };
}

function runTip(run, names) {
  const time = `${seconds(run.end - run.begin)}, from ${clock(run.begin)} on`, who = escaped(names.get(run.worker) || run.worker);
  if (run.lost) return `<b>trial ${run.lost.trial}</b> · lost: ${who} died or fell silent<br>taken for dead after ${escaped(seconds(run.end - run.begin))}`;
  if (run.running) return `<b>trial ${run.running.number}</b> · runs since ${escaped(clock(run.begin))}<br>${who}`;
  return trialTip(run.trial, `${who}<br>${escaped(run.state === 'duplicate' ? `at ${clock(run.begin)}` : time)}${run.again ? '<br>run again after a death' : ''}`);
}

function drawRun(run, row, begin, end, api) {
  const [left, middle] = api.coord([begin, row]), right = api.coord([end, row])[0], height = Math.max(2, api.size([0, 1])[1] * 0.72);
  const width = Math.max(run.state === 'duplicate' ? 1 : 1.5, right - left - (right - left > 6 ? 1 : 0));
  const fill = run.state === 'lost' ? 'transparent' : colour(states[run.state]), edge = run.state === 'lost' || run.again ? colour('bad') : 'none';
  const shape = { x: left, y: middle - height / 2, width, height, r: Math.min(2, width / 3) };
  const parts = [{ type: 'rect', shape, style: { fill, opacity: run.state === 'complete' ? 0.85 : 0.75, stroke: edge, lineWidth: edge === 'none' ? 0 : 1.5, lineDash: run.state === 'lost' ? [3, 2] : null } }];
  const label = String(run.trial ? run.trial.number : run.lost ? run.lost.trial : run.running.number);
  if (height >= 11 && width > 8 + 7 * label.length && run.state !== 'duplicate')
    parts.push({ type: 'text', silent: true, style: { text: label, x: left + width / 2, y: middle, align: 'center', verticalAlign: 'middle', fontSize: 10, fill: run.state === 'lost' ? colour('bad') : colour('card') } });
  if (run.state === 'lost') parts.push({ type: 'line', silent: true, shape: { x1: right - 4, y1: middle - 4, x2: right + 4, y2: middle + 4 }, style: { stroke: colour('bad'), lineWidth: 2 } }, { type: 'line', silent: true, shape: { x1: right - 4, y1: middle + 4, x2: right + 4, y2: middle - 4 }, style: { stroke: colour('bad'), lineWidth: 2 } });
  return { type: 'group', children: parts };
}

function timelineOption(timeline, runs, rows) {
  const names = shortNames(timeline), axis = withoutPauses(runs), end = Math.max(...runs.map((run) => axis.place(run.end)), 1e-3);
  const kinds = ['complete', 'pruned', 'failed', 'running', 'lost', 'duplicate'].filter((state) => runs.some((run) => run.state === state));
  const series = kinds.map((state) => {
    const some = runs.filter((run) => run.state === state);
    return { name: state, type: 'custom', itemStyle: { color: colour(states[state] || 'bad') }, encode: { x: [1, 2], y: 0 }, clip: true,
      renderItem: (params, api) => drawRun(some[params.dataIndex], api.value(0), api.value(1), api.value(2), api), data: some.map((run) => ({ value: [run.row, axis.place(run.begin), axis.place(run.end)], run })) };
  });
  series[0].markLine = { silent: true, symbol: 'none', lineStyle: { color: colour('soft'), type: 'dashed' }, label: { color: colour('soft'), position: 'start', formatter: (line) => line.name }, data: axis.cuts.map((cut) => ({ name: `${seconds(cut.length)} later`, xAxis: axis.place(cut.from) })) };
  const zoomed = runs.length > 150;
  return {
    grid: { left: 12, right: 16, top: axis.cuts.length ? 48 : 30, bottom: zoomed ? 62 : 28, containLabel: true }, legend: { data: kinds },
    xAxis: { type: 'value', min: 0, max: end, name: 'since the first trial began', nameLocation: 'middle', nameGap: 24, axisLabel: { formatter: (place) => clock(axis.seconds(place)), hideOverlap: true, showMaxLabel: false } },
    yAxis: { type: 'category', inverse: true, data: rows, axisTick: { show: false }, splitLine: { show: false }, axisLabel: { width: 190, overflow: 'truncate', fontSize: rows.length > 40 ? 9 : 11, interval: rows.length > 60 ? 'auto' : 0 } },
    dataZoom: zoomed ? [{ type: 'slider', xAxisIndex: 0, filterMode: 'weakFilter', height: 16, bottom: 6, showDetail: false, brushSelect: false, borderColor: colour('line') }] : undefined,
    tooltip: { formatter: (point) => (point.data && point.data.run ? runTip(point.data.run, names) : '') }, series,
  };
}

function inWords(timeline) {
  const many = timeline.workers.length, lost = timeline.lost.length;
  const out = [many > 1 ? `${many} processes` : 'One process'];
  if (isNumber(timeline.share)) out.push(` ran trials in ${percent(timeline.share, 0)} of ${many > 1 ? 'their' : 'its'} time`);
  if (isNumber(timeline.at_once)) out.push(`, ${number(timeline.at_once, 3)} trials at a time on average`);
  if (lost) out.push(`; ${lost} ${lost === 1 ? 'run was lost with its process' : 'runs were lost with their processes'}`);
  return out.join('') + '.';
}

sections.push({ id: 'workers', title: 'Workers and trials', build: () => {
  const timeline = search.timeline;
  if (!timeline) return null;
  const runs = runsOf(timeline), rows = lanesOf(timeline, runs), names = shortNames(timeline);
  if (!runs.length) return null;
  const each = rows.length <= 40 ? 19 : Math.max(5, 760 / rows.length);
  const click = (event) => event.data && event.data.run && event.data.run.trial && document.dispatchEvent(new CustomEvent('chosen', { detail: event.data.run.trial.number }));
  const columns = [
    { title: 'process', value: (worker) => names.get(worker.name) }, { title: 'trials', value: (worker) => worker.finished },
    { title: 'first', help: 'The beginning of its first trial', value: (worker) => worker.first_s, show: (worker) => (isNumber(worker.first_s) ? clock(worker.first_s) : '–') }, { title: 'last', help: 'The end of its last trial', value: (worker) => worker.last_s, show: (worker) => (isNumber(worker.last_s) ? clock(worker.last_s) : '–') },
    { title: 'in trials', value: (worker) => worker.busy_s, show: (worker) => seconds(worker.busy_s) }, { title: 'at work', help: 'In trials, of the time between first and last', value: (worker) => worker.share, show: (worker) => percent(worker.share, 0) },
    ...(timeline.lost.length ? [{ title: 'lost', help: 'Runs of trials during which others took it for dead', value: (worker) => worker.lost, show: (worker) => element('span', { class: worker.lost ? 'bad' : '' }, String(worker.lost)) }] : [])];
  return [element('p', { class: 'note' }, inWords(timeline), ' Behind each name stands its share: in trials, of the time from its first trial to the end of its last one. Duplicates take no time and are thin lines; a red edge marks a trial that ran again.'),
    figure('Who ran what, and when', 70 + (runs.length > 150 ? 34 : 0) + each * rows.length, () => timelineOption(timeline, runs, rows), click),
    timeline.workers.length > 1 ? table(columns, timeline.workers, { tall: timeline.workers.length > 14, sort: { column: 2 } }) : null];
} });

// What mattered: importance, the objective along each parameter, and all parameters at once.
'use strict';
const distinct = () => search.trials.filter((trial) => trial.state === 'complete' && isNumber(at(trial.values, 0)));
// Trials that were given up tell what they had by then.
const valueOf = (trial) => (trial.state === 'complete' ? at(trial.values, 0) : trial.state === 'pruned' ? at(trial.values, 0) ?? trial.last : undefined);
const valued = () => search.trials.filter((trial) => isNumber(valueOf(trial)));
const ordered = () => {
  const rank = new Map(search.importance.map((item, i) => [item.name, i])), share = new Map(search.importance.map((item) => [item.name, item.share]));
  const values = (parameter) => new Set(valued().map((trial) => JSON.stringify(trial.params[parameter.name])));
  const told = (parameter) => { const all = values(parameter), there = [...all].filter((value) => value !== undefined); return there.length > 1 || (all.size > 1 && parameter.kind === 'choice' && share.get(parameter.name) >= 0.01); };
  return search.parameters.filter(told).sort((a, b) => (rank.get(a.name) ?? 99) - (rank.get(b.name) ?? 99));
};
const absent = 'not there';

// The labels of a parameter given as choices, in the order of the space; the absent one last where it occurs.
function labelsOf(parameter, trials) {
  const labels = parameter.choices.map(words);
  return trials.some((trial) => !(parameter.name in trial.params)) ? [...labels, absent] : labels;
}
const labelOf = (parameter, trial) => (parameter.name in trial.params ? words(trial.params[parameter.name]) : absent);
const short = (text, length = 22) => (text.length > length ? text.slice(0, length - 1).trimEnd() + '…' : text);

sections.push({ id: 'importance', title: 'What mattered', build: () => {
  if (!search.importance.length) return null;
  const felt = search.importance.filter((item) => item.share >= 0.0005), most = Math.min(20, Math.max(felt.length, 3));
  const items = search.importance.slice(0, most).reverse(), rest = search.importance.slice(most).map((item) => pretty(item.name));
  return [element('p', { class: 'note' }, `The part of the variation of ${objectiveOf(search).name} that each parameter alone explains, from ${valued().length} trials (functional analysis of variance on a random forest).`),
    figure('Parameter importance', 48 + 26 * items.length, () => ({
      grid: { left: 8, right: 60, top: 6, bottom: 6, containLabel: true }, xAxis: { type: 'value', axisLabel: { show: false }, splitLine: { show: false } },
      yAxis: { type: 'category', data: items.map((item) => pretty(item.name)), axisTick: { show: false }, axisLabel: { formatter: (name) => short(name, matchMedia('(max-width: 640px)').matches ? 22 : 48) } },
      tooltip: { formatter: (bar) => `${escaped(bar.name)}: ${escaped(percent(bar.value))}` },
      series: [{ type: 'bar', barMaxWidth: 16, itemStyle: { color: colour('accent'), borderRadius: [0, 4, 4, 0] }, label: { show: true, position: 'right', color: colour('soft'), formatter: (bar) => percent(bar.value) }, data: items.map((item) => item.share) }],
    })), rest.length ? element('p', { class: 'note' }, `${felt.length > most ? 'Less' : 'Nothing measurable'}: ${rest.join(', ')}.`) : null];
} });

function sliceOption(parameter) {
  const objective = objectiveOf(search), trials = valued().filter((trial) => parameter.kind === 'choice' || parameter.name in trial.params);
  const log = logarithmic(trials.map(valueOf)), last = Math.max(...trials.map((trial) => trial.number), 1);
  const choice = parameter.kind === 'choice', labels = choice ? labelsOf(parameter, trials) : [];
  const spread = (n) => (((n * 0.618034) % 1) - 0.5) * 0.5;  // so that equal points stand beside each other
  const place = (trial) => (choice ? labels.indexOf(labelOf(parameter, trial)) + spread(trial.number) : trial.params[parameter.name]);
  return {
    grid: { left: 58, right: 14, top: 12, bottom: choice ? 8 : 24 },
    xAxis: choice ? { type: 'value', min: -0.5, max: labels.length - 0.5, interval: 1, splitLine: { show: false }, axisTick: { show: false }, axisLabel: { show: false } }
      : { type: parameter.log ? 'log' : 'value', min: parameter.low, max: parameter.high, axisLabel: { hideOverlap: true, formatter: (x) => number(x, 3) }, splitLine: { show: false } },
    yAxis: { type: log ? 'log' : 'value', scale: true, axisLabel: { formatter: (x) => score(objective.name, x), hideOverlap: true } },
    tooltip: { formatter: (point) => trialTip(point.data.trial) },
    visualMap: { show: false, type: 'continuous', min: 0, max: last, dimension: 2, inRange: { color: ramp() } },
    series: [{ type: 'scatter', symbolSize: 6, itemStyle: { opacity: 0.75 }, data: trials.map((trial) => ({ trial, symbol: trial.state === 'pruned' ? 'triangle' : 'circle', value: [place(trial), valueOf(trial), trial.number] })) }],
  };
}

// Labels of choices stand below the plot as text that wraps, which an axis cannot do.
function sliceFigure(parameter) {
  const node = figure(pretty(parameter.name), 190, () => sliceOption(parameter));
  if (parameter.kind === 'choice') {
    const labels = labelsOf(parameter, valued());
    node.append(element('div', { class: labels.length > 4 ? 'choices many soft' : 'choices soft', style: `grid-template-columns:repeat(${labels.length},minmax(0,1fr))` }, labels.map((label) => element('span', { title: label }, short(label, 36).replace(/([a-z\d])(?=[A-Z])|,/g, '$&\u200b')))));
  }
  return node;
}

sections.push({ id: 'slices', title: 'Along each parameter', build: () => {
  const parameters = ordered().slice(0, 12);
  if (!parameters.length || valued().length < 3) return null;
  return [element('p', { class: 'note' }, `${objectiveOf(search).name} of every trial along one parameter at a time, the most important first. Later trials are greener; triangles were given up early.`), element('div', { class: 'grid' }, parameters.map(sliceFigure))];
} });

function parallelOption(parameters) {
  const objective = objectiveOf(search), trials = distinct().filter((trial) => trial.state === 'complete').slice(-1000);
  const values = trials.map((trial) => trial.values[0]), low = Math.min(...values), high = Math.max(...values), log = logarithmic(values);
  const shade = (x) => (log ? Math.log10(x) : x);
  const room = Math.max(12, Math.floor(Math.max(document.getElementById('main') ? document.getElementById('main').clientWidth - 250 : 0, 105 * parameters.length) / parameters.length / 7.5));  // characters between two axes
  const axes = parameters.map((parameter, dim) => ({ dim, name: pretty(parameter.name).replace(' · ', '\n'), ...(parameter.kind === 'choice' ? { type: 'category', data: labelsOf(parameter, trials), axisLabel: { formatter: (text) => short(text, room) } } : { type: parameter.log ? 'log' : 'value', min: parameter.low, max: parameter.high, axisLabel: { formatter: (x) => number(x, 3) } }) }));
  axes.push({ dim: parameters.length, name: objective.name, type: log ? 'log' : 'value', scale: true, inverse: !maximized(objective), nameLocation: maximized(objective) ? 'end' : 'start', min: low, max: high, axisLabel: { formatter: (x) => score(objective.name, x) } });
  const ends = [shade(low), shade(high)];
  return {
    parallel: { left: 64, right: 80, top: 60, bottom: 20, parallelAxisDefault: { nameRotate: 0, nameTextStyle: { color: colour('soft'), fontSize: 11, width: Math.max(100, 7 * room), overflow: 'truncate', lineHeight: 14 }, nameGap: 14, axisLine: { lineStyle: { color: colour('mute') } }, axisLabel: { color: colour('soft'), textBorderColor: colour('card'), textBorderWidth: 3 }, axisTick: { show: false }, minorTick: { show: false } } },
    parallelAxis: axes, visualMap: { show: false, type: 'continuous', min: ends[0], max: ends[1] > ends[0] ? ends[1] : ends[0] + 1, dimension: parameters.length + 1, inRange: { color: maximized(objective) ? ramp() : ramp().reverse() } },
    tooltip: { show: false },
    series: [{ type: 'parallel', smooth: 0.1, lineStyle: { width: trials.length > 200 ? 1 : 1.8, opacity: trials.length > 200 ? 0.35 : 0.7 }, data: trials.map((trial) => [...parameters.map((parameter) => (parameter.kind === 'choice' ? labelOf(parameter, trial) : trial.params[parameter.name] ?? '-')), trial.values[0], shade(trial.values[0])]) }],
  };
}

sections.push({ id: 'parallel', title: 'All parameters at once', build: () => {
  const parameters = ordered().slice(0, 8);
  if (parameters.length < 2 || distinct().length < 3) return null;
  return [element('p', { class: 'note' }, `One line is one trial; the ${objectiveOf(search).name} stands at the right, the best at the top. Drag along an axis to keep only the lines that pass there.`),
    element('div', { class: 'scroll' }, element('div', { style: `min-width:${Math.max(300, 105 * (parameters.length + 1))}px` }, figure('Parallel coordinates', 360, () => parallelOption(parameters))))];
} });

// Elements, numbers, colours and plots for all sections. Text from models and configurations reaches the page as text nodes only,
// and tooltips through escaped().
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const search = data.searches[0];
const sections = [];  // {id, title, build}; build() gives nothing when its data is missing (their order stands in main.js)

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== undefined && child !== null));
  return node;
}

function escaped(text) {
  return String(text).replace(/[&<>"']/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[c]);
}

// A sentence in which `words` between backticks are code.
const withCode = (text) => text.split('`').map((part, i) => (i % 2 ? element('code', {}, part) : part));

const isNumber = (x) => typeof x === 'number' && isFinite(x);
const at = (value, ...path) => path.reduce((inner, key) => (inner === undefined || inner === null ? undefined : inner[key]), value);

function number(x, digits = 4) {
  if (!isNumber(x)) return '–';
  if (x === 0) return '0';
  const size = Math.abs(x);
  if (size >= 1e6 || size < 1e-4) return x.toExponential(2).replace(/\.?0*e\+?/, 'e');
  return String(Number(x.toPrecision(digits)));
}

const bytes = (x) => (!isNumber(x) ? '–' : Math.abs(x) >= 1e9 ? number(x / 1e9, 3) + ' GB' : Math.abs(x) >= 1e6 ? number(x / 1e6, 3) + ' MB' : number(x / 1e3, 3) + ' KB');
const seconds = (x) => (!isNumber(x) ? '–' : x < 1 ? number(1000 * x, 3) + ' ms' : x < 120 ? number(x, 3) + ' s' : x < 7200 ? number(x / 60, 3) + ' min' : number(x / 3600, 3) + ' h');
const milliseconds = (x) => (!isNumber(x) ? '–' : Math.abs(x) < 0.1 ? number(1000 * x, 3) + ' µs' : Math.abs(x) >= 1000 ? number(x / 1000, 3) + ' s' : number(x, 3) + ' ms');
const percent = (x, digits = 1) => (isNumber(x) ? (100 * x).toFixed(digits) + ' %' : '–');
const pretty = (name) => name.replace(/_params_/, ' · ');  // a group's member, as people say it
const words = (value) => (value === null ? 'null' : typeof value === 'string' ? value : JSON.stringify(value));

// What running the model costs, as objectives name it.
const costUnits = { bytes, peak_memory: bytes, latency: milliseconds, relative_latency: (x) => (isNumber(x) ? number(x, 3) + ' × float' : '–') };
const isCost = (name) => Object.hasOwn(costUnits, name);
const isShare = (name) => data.searches.some((contents) => at(contents.metrics, name, 'proportion'));

// A value of a metric or cost as its users write it: shares in per cent.
function score(name, value) {
  return isCost(name) ? costUnits[name](value) : isShare(name) ? percent(value, 2) : number(value);
}
const interval = (name, s) => (s && isNumber(s.low) && isNumber(s.high) && s.high > s.low ? `${score(name, s.low)} … ${score(name, s.high)}` : '');
const maximized = (objective) => at(objective, 'direction') === 'maximize';
const objectiveOf = (contents) => at(contents.objectives, 0) || { name: 'value', direction: 'minimize' };
const keepsConstraints = (trial) => !(trial.violation > 0);
const better = (objective, a, b) => (maximized(objective) ? a > b : a < b);

const dark = matchMedia('(prefers-color-scheme: dark)');
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
const states = { complete: 'accent', 'breaks a constraint': 'warn', duplicate: 'mute', pruned: 'warn', failed: 'bad', running: 'soft' };
const series = () => (document.documentElement.dataset.theme === 'dark'
  ? ['#86aeff', '#eaaa52', '#4cc795', '#d68fd6', '#ff8580', '#6fd0e0', '#c9b458', '#a9b4c2']
  : ['#2557c7', '#c97b12', '#0b8a5d', '#93459b', '#c23a3a', '#1688a0', '#8d7a13', '#6a7685']);

// A ramp from bad to good that survives colour blindness and both themes.
const ramp = () => (document.documentElement.dataset.theme === 'dark' ? ['#8d79cf', '#4a9fb8', '#8fdc9b'] : ['#c9b7e8', '#3a8fb0', '#0b5d4a']);

const plots = [];  // {box, option, drawn}
let watcher;

function draw(plot) {
  if (plot.drawn) plot.drawn.dispose();
  plot.drawn = echarts.init(plot.box, null, { renderer: search.trials.length > 3000 ? 'canvas' : 'svg' });
  const axis = { axisLine: { onZero: false, lineStyle: { color: colour('line') } }, axisLabel: { color: colour('soft') }, nameTextStyle: { color: colour('soft') }, splitLine: { lineStyle: { color: colour('line'), opacity: 0.7 } } };
  const merge = (given) => (given === undefined ? undefined : [].concat(given).map((one) => echarts.util.merge(echarts.util.clone(axis), one, true)));
  const option = plot.option();
  const narrow = innerWidth < 640 && option.legend;  // no room for both
  if (narrow) [].concat(option.yAxis).forEach((one) => { one.name = ''; });
  plot.drawn.setOption({ animation: false, color: series(), textStyle: { color: colour('ink'), fontFamily: 'inherit' }, aria: { enabled: true },
    ...option, xAxis: merge(option.xAxis), yAxis: merge(option.yAxis),
    tooltip: { confine: true, backgroundColor: colour('card'), borderColor: colour('line'), textStyle: { color: colour('ink'), fontSize: 12 }, ...option.tooltip },
    legend: option.legend && { textStyle: { color: colour('soft') }, top: 0, right: 0, type: 'scroll', itemHeight: 9, itemWidth: 14, ...option.legend } });
  if (plot.click) plot.drawn.on('click', plot.click);
}

// A figure whose plot is drawn when it comes into view; `option` is asked again when the theme changes.
function figure(title, height, option, click) {
  const box = element('div', { class: 'plot', style: `height:${height}px`, role: 'img', 'aria-label': title });
  const plot = { box, option, click };
  plots.push(plot);
  if (watcher) watcher.observe(box);
  return element('figure', { 'data-plot': title }, title ? element('figcaption', {}, title) : null, box);
}

const drawAll = (again) => plots.forEach((plot) => { if (again ? plot.drawn : !plot.drawn) draw(plot); });

// A table that sorts by any column. columns: [{title, value(row), show(row), text}]; `decorate` may mark a row.
function table(columns, rows, { sort, limit = 200, decorate, tall } = {}) {
  let by = sort, shown = limit;
  const body = element('tbody'), heads = [], more = element('button', { type: 'button', onclick: () => { shown = Infinity; fill(); } });
  const compare = (a, b) => (a === b ? 0 : a === undefined || a === null || a === '' ? 1 : b === undefined || b === null || b === '' ? -1 : a < b ? -1 : 1);
  function fill(list = rows) {
    rows = list;
    let ordered = rows;
    if (by) {
      const value = columns[by.column].value, sign = by.down ? -1 : 1;
      const empty = (x) => x === undefined || x === null || x === '';
      ordered = [...rows].sort((a, b) => { const x = value(a), y = value(b); return empty(x) || empty(y) ? compare(x, y) : sign * compare(x, y); });
    }
    heads.forEach((head, i) => (by && by.column === i ? head.setAttribute('aria-sort', by.down ? 'descending' : 'ascending') : head.removeAttribute('aria-sort')));
    body.replaceChildren(...ordered.slice(0, shown).map((row) => {
      const line = element('tr', {}, columns.map((column) => element('td', { class: column.text }, column.show ? column.show(row) : words(column.value(row) ?? '–'))));
      if (decorate) decorate(line, row);
      return line;
    }));
    more.textContent = `Show all ${rows.length}`;
    more.hidden = ordered.length <= shown;
  }
  columns.forEach((column, i) => {
    const toggle = () => { by = { column: i, down: by && by.column === i ? !by.down : false }; fill(); };
    heads.push(element('th', { scope: 'col', class: column.text }, element('button', { type: 'button', onclick: toggle, title: column.help }, column.title)));
  });
  fill();
  const node = element('div', { class: tall ? 'scroll tall' : 'scroll', tabindex: 0 }, element('table', {}, element('thead', {}, element('tr', {}, heads)), body), more);
  node.fill = fill;
  node.showAll = () => { shown = Infinity; fill(); };
  return node;
}

// The end of a name of parts between slashes, as many of them as fit.
function tail(name, length) {
  if (name.length <= length) return name;
  const parts = name.split('/');
  while (parts.length > 1 && parts.join('/').length > length - 2) parts.shift();
  const rest = parts.join('/');
  return rest.length <= length - 2 ? '…/' + rest : '…' + rest.slice(1 - length);
}

function legend(entries) {
  return element('div', { class: 'legend' }, entries.map(([name, fill]) => element('span', {}, element('i', { style: `background:${fill}` }), name)));
}

// How to get the same again: configurations, environment, and where the time went.
'use strict';
// JSON as YAML, for reading and copying: plain scalars unquoted where YAML reads them back the same.
function yaml(value, indent = '') {
  const plain = (text) => (/^[A-Za-z_][\w./ -]*$/.test(text) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(text) && text.trim() === text ? text : JSON.stringify(text));
  if (typeof value === 'string') return plain(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const flat = (one) => JSON.stringify(one).length < 90 && Object.values(one).every((inner) => inner === null || typeof inner !== 'object' || Array.isArray(inner));
  const inline = (one) => (one === null || typeof one !== 'object' ? yaml(one) : Array.isArray(one) ? '[' + one.map(inline).join(', ') + ']' : '{' + Object.entries(one).map(([key, inner]) => `${plain(key)}: ${inline(inner)}`).join(', ') + '}');
  const entries = Object.entries(value), nested = (inner) => (inner === null || typeof inner !== 'object' || !Object.keys(inner).length || flat(inner) ? ' ' + inline(inner) : '\n' + yaml(inner, indent + '  '));
  if (!entries.length) return inline(value);
  return entries.map(([key, inner]) => indent + (Array.isArray(value) ? '-' : plain(key) + ':') + nested(inner)).join('\n');
}

function snippet(title, text) {
  const copy = element('button', { type: 'button', onclick: async () => {
    try { await navigator.clipboard.writeText(text); copy.textContent = 'copied'; } catch { copy.textContent = 'select and copy'; }
  } }, 'copy');
  return [element('h3', {}, title, ' ', copy), element('pre', { tabindex: 0 }, text)];
}

sections.push({ id: 'reproduce', title: 'To reproduce it', build: () => {
  const best = at(search.result, 'best', 'params'), parts = [];
  if (best) parts.push(element('div', {}, snippet('The best trial\'s parameters', yaml(best))));
  if (search.words && Object.keys(search.words).length) parts.push(element('div', {}, snippet('The search', yaml(search.words))));
  return parts.length ? element('div', { class: 'pair' }, parts) : null;
} });

function phases() {
  const known = at(search.result, 'phases') || {}, names = { prepare_s: 'load and check', float_s: 'float model', calibrate_s: 'calibration', trials_s: 'trials', winner_s: 'the winner, hold-out' }, out = [];
  const trials = search.trials.filter((trial) => trial.state !== 'duplicate');
  const build = trials.reduce((sum, trial) => sum + (trial.build_s || 0), 0), scored = trials.reduce((sum, trial) => sum + (trial.score_s || 0), 0);
  for (const [key, value] of Object.entries(known)) out.push({ name: names[key] || key.replace(/_s$/, '').replace(/_/g, ' '), value });
  const rest = (search.result.seconds || 0) - out.reduce((sum, one) => sum + one.value, 0);
  if (rest > 0) out.push({ name: 'files and the rest', value: rest });
  return { out, build, scored };
}

sections.push({ id: 'time', title: 'Time and environment', build: () => {
  const { out, build, scored } = phases(), environment = { ...(at(search.result, 'environment') || {}) };
  for (const key of ['quasar', 'onnxruntime', 'cpu', 'seed']) if (search.result[key] !== undefined) environment[key] = search.result[key];
  const judge = at(search.result, 'judge');
  if (judge) environment.judge = `${judge.library} ${judge.version}, ${judge.device}`;
  if (search.needs) environment['best.onnx needs'] = search.needs;
  const holds = at(search.result, 'best', 'processors', 'scores_hold_for');
  if (holds) environment['scores hold for'] = holds;
  const rows = Object.entries(environment), parts = [];
  if (out.length) parts.push(element('div', {}, figure('Time by phase', 40 + 28 * out.length, () => ({
    grid: { left: 8, right: 70, top: 6, bottom: 6, containLabel: true }, xAxis: { type: 'value', axisLabel: { show: false }, splitLine: { show: false } }, yAxis: { type: 'category', inverse: true, data: out.map((one) => one.name), axisTick: { show: false } },
    tooltip: { formatter: (bar) => `${escaped(bar.name)}: ${escaped(seconds(bar.value))}` },
    series: [{ type: 'bar', barMaxWidth: 16, itemStyle: { color: colour('accent'), borderRadius: [0, 4, 4, 0] }, label: { show: true, position: 'right', color: colour('soft'), formatter: (bar) => seconds(bar.value) }, data: out.map((one) => one.value) }],
  })), build + scored > 0 ? element('p', { class: 'note' }, `All trials together, summed over parallel ones: ${seconds(build)} building models, ${seconds(scored)} scoring them.`) : null));
  if (rows.length) parts.push(table([{ title: 'what', value: (row) => row[0] }, { title: 'value', text: 'text wrap', value: (row) => words(row[1]) }], rows));
  return parts.length ? element('div', { class: 'pair' }, parts) : null;
} });

// Puts the page together: bar, sections that have data, theme, printing, and reloading while the search runs.
'use strict';
const order = ['model', 'verdicts', 'compare-summary', 'compare-history', 'compare-parameters', 'compare-layers', 'summary', 'scores', 'models', 'answers', 'next', 'tuning', 'history', 'workers', 'pareto', 'importance', 'slices',
  'parallel', 'layers', 'costs', 'ranges', 'nodes', 'flips', 'trials', 'reproduce', 'time'];
// What the bar calls the sections whose titles are long.
const brief = { scores: 'Scores', next: 'Next', tuning: 'Way', workers: 'Workers', pareto: 'Cost', importance: 'Importance', models: 'Models', slices: 'Slices', parallel: 'Parallel', answers: 'Parts', costs: 'Time', ranges: 'Ranges', flips: 'Flips', reproduce: 'Reproduce', time: 'Environment' };
const root = document.documentElement;
const saved = { get: (key) => { try { return sessionStorage.getItem(key); } catch { return null; } }, set: (key, value) => { try { sessionStorage.setItem(key, value); } catch { /* private windows */ } } };

function theme(name) {
  root.dataset.theme = name;
  drawAll(true);
  document.dispatchEvent(new Event('themed'));
}

function themeButton() {
  return element('button', { type: 'button', title: 'Light or dark', 'aria-label': 'Change between light and dark', onclick: () => {
    const next = root.dataset.theme === 'dark' ? 'light' : 'dark';
    saved.set('quasar-theme', next);
    theme(next);
  } }, '◐');
}

// While the search runs the file is rewritten; the page follows it unless the reader stops that.
function reloading() {
  if (!search.running) return null;
  const box = element('input', { type: 'checkbox', id: 'follow' });
  box.checked = saved.get('quasar-follow') !== 'no';
  box.addEventListener('change', () => saved.set('quasar-follow', box.checked ? 'yes' : 'no'));
  setInterval(() => { if (box.checked && !document.hidden) location.reload(); }, 2500);
  return element('label', { class: 'soft', for: 'follow', style: 'white-space:nowrap;font-size:.87rem' }, box, ' follow');
}

function page() {
  const only = { history: ['history'], importance: ['importance'], inspection: ['model', 'verdicts', 'layers', 'costs', 'ranges', 'nodes'] }[data.view];
  const main = element('main', { id: 'main', tabindex: -1 }), links = [];
  for (const { id, title, build, wide } of [...sections].sort((a, b) => order.indexOf(a.id) - order.indexOf(b.id))) {
    if (only ? !only.includes(id) : data.view === 'comparison' ? !id.startsWith('compare') : id.startsWith('compare')) continue;
    const parts = build();
    if (!parts) continue;
    main.append(wide ? element('div', { id }, parts) : element('section', { id, class: id === 'trials' || id === 'layers' ? 'long' : null, 'aria-labelledby': id + '-title' }, element('h2', { id: id + '-title' }, title), parts));
    links.push(element('a', { href: '#' + id, title }, brief[id] || title));
  }
  main.append(element('footer', {}, `Quasar ${at(search.result, 'quasar') || ''} · ONNX Runtime ${at(search.result, 'onnxruntime') || ''} · plots by Apache ECharts`));
  const bar = element('header', { class: 'top' }, element('div', { class: 'bar' },
    element('span', { class: 'brand' }, 'Quasar', element('small', {}, search.title)), element('nav', { 'aria-label': 'Sections' }, links), reloading(), themeButton()));
  document.getElementById('app').append(element('a', { class: 'skip', href: '#main' }, 'Skip to the report'), bar, main);
}

root.dataset.theme = saved.get('quasar-theme') || (dark.matches ? 'dark' : 'light');
page();
watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const plot = entry.isIntersecting && plots.find((one) => one.box === entry.target);
    if (plot && !plot.drawn) draw(plot);
  }
}, { rootMargin: '400px' });
plots.forEach((plot) => watcher.observe(plot.box));
dark.addEventListener('change', () => { if (!saved.get('quasar-theme')) theme(dark.matches ? 'dark' : 'light'); });
let resizing;
const sizes = new ResizeObserver(() => { clearTimeout(resizing); resizing = setTimeout(() => plots.forEach((plot) => { if (plot.drawn && plot.drawn.getWidth() !== plot.box.clientWidth) draw(plot); }), 120); });
sizes.observe(document.getElementById('main'));
// On paper: everything drawn, in light colours, in the width of a sheet, and able to shrink with it.
let before;
addEventListener('beforeprint', () => {
  before = root.dataset.theme;
  document.getElementById('main').style.width = '760px';
  theme('light');
  drawAll(false);
  for (const { box } of plots) for (const svg of box.querySelectorAll('svg')) svg.setAttribute('viewBox', `0 0 ${box.clientWidth} ${box.clientHeight}`);
});
addEventListener('afterprint', () => { document.getElementById('main').style.width = ''; theme(before); });

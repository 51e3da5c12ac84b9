// Which predictions the best model changed, and what the samples look like whose answers moved most.
'use strict';
const pictureOf = (one) => {
  const text = at(search.pictures, String(one.sample));
  return typeof text === 'string' && /^data:image\/jpeg;base64,[A-Za-z0-9+/=]+$/.test(text) ? text : undefined;
};

// A class by its name, where the data has one for it, else by its number; on pictures only what stands before the first comma.
const classNamed = (of) => { const name = at(search.result, 'best', 'flips', 'names', String(of)); return typeof name === 'string' ? name : undefined; };
const called = (of) => classNamed(of) ?? String(of);
const calledBriefly = (of) => short(called(of).split(',')[0], 28);
const calledFully = (of) => (classNamed(of) === undefined ? String(of) : `${classNamed(of)} (${of})`);
const classCell = (of, tone) => (of === undefined ? '–' : element('span', { class: tone, title: classNamed(of) === undefined ? null : `class ${of}: ${classNamed(of)}` }, short(called(of), 40)));

// What the two models say of a sample, in words.
function said(one) {
  const known = isNumber(one.label) ? `label ${calledFully(one.label)}` : '';
  if (!isNumber(one.float)) return known;
  const answers = one.best === one.float ? `both say ${calledFully(one.float)}` : `float says ${calledFully(one.float)}, best says ${calledFully(one.best)}`;
  return known ? `${known}: ${answers}` : answers;
}

function shot(one, name) {
  const picture = element('img', { src: pictureOf(one), alt: `sample ${one.sample}: ${said(one)}`, loading: 'lazy' });
  const blocks = () => { if (picture.naturalWidth && picture.naturalWidth < 64) picture.classList.add('blocks'); };
  picture.addEventListener('load', blocks);
  blocks();
  const changed = isNumber(one.float) && one.best !== one.float, tone = !changed || !isNumber(one.label) ? '' : one.label === one.best ? 'good' : one.label === one.float ? 'bad' : 'warn';
  const change = isNumber(one.float) ? (one.best === one.float ? `both ${calledBriefly(one.float)}` : `${calledBriefly(one.float)} → ${calledBriefly(one.best)}`) : number(one.value, 3);
  return element('li', { title: [one.file || `sample ${one.sample}`, said(one)].filter(Boolean).join('\n') }, picture, element('span', { class: 'big ' + tone }, change),
    element('small', {}, `sample ${one.sample}` + (isNumber(one.label) ? ` · label ${calledBriefly(one.label)}` : ''), element('br'), `${name} ${number(one.value, 3)}`));
}

function classTable(flips, labelled) {
  const classes = (flips.classes || []).filter((one) => one.changed > 0);
  if (!classes.length) return null;
  const columns = [{ title: labelled ? 'class (label)' : 'class (float)', text: flips.names ? 'text wrap' : undefined, value: (one) => classNamed(one.class) ?? one.class, show: (one) => classCell(one.class) }, { title: 'samples', value: (one) => one.samples }, { title: 'changed', value: (one) => one.changed }, { title: 'share', value: (one) => one.changed / one.samples, show: (one) => percent(one.changed / one.samples) }];
  if (labelled) columns.push({ title: 'became wrong', value: (one) => one.lost }, { title: 'became right', value: (one) => one.gained });
  return element('div', {}, element('h3', {}, 'By class'), table(columns, classes, { sort: { column: 2, down: true }, limit: 50, tall: classes.length > 12 }));
}

function worstTable(worst, name) {
  const columns = [{ title: 'sample', value: (one) => one.sample }], text = at(search.result, 'best', 'flips', 'names') ? 'text wrap' : undefined;
  const of = (key) => (one) => classNamed(one[key]) ?? one[key];
  if (worst.some((one) => isNumber(one.label))) columns.push({ title: 'label', text, value: of('label'), show: (one) => classCell(one.label) });
  if (worst.some((one) => isNumber(one.float))) columns.push({ title: 'float says', text, value: of('float'), show: (one) => classCell(one.float) }, { title: 'best says', text, value: of('best'), show: (one) => classCell(one.best, one.best === one.float ? '' : one.best === one.label ? 'good' : 'bad') });
  columns.push({ title: name, value: (one) => one.value, show: (one) => number(one.value) });
  if (worst.some((one) => one.file)) columns.push({ title: 'file', text: 'text wrap', value: (one) => one.file || '' });
  return element('div', {}, element('h3', {}, 'Samples that differ most'), table(columns, worst, { limit: 50, tall: worst.length > 12 }));
}

sections.push({ id: 'flips', title: 'Changed predictions', build: () => {
  const flips = at(search.result, 'best', 'flips');
  if (!flips) return null;
  const { samples, changed, gained, lost } = flips, labelled = isNumber(gained), worst = flips.worst || [];
  const name = flips.metric || objectiveOf(search).name, shown = worst.filter(pictureOf);
  const parts = [element('p', { class: 'note' }, isNumber(changed)
    ? `${changed} of ${samples} predictions differ from the float model's (${percent(changed / samples, 2)})` + (labelled ? `: ${lost} became wrong, ${gained} became right.` : '.')
    : `The samples whose ${name} moved most, of ${samples}. The model's outputs are no classes, so no predictions are compared.`)];
  if (shown.length) parts.push(element('ul', { class: flips.names ? 'gallery named' : 'gallery', 'aria-label': 'Pictures of the samples that differ most' }, shown.map((one) => shot(one, name))));
  parts.push(element('div', { class: flips.names || worst.some((one) => one.file) ? '' : 'pair' }, classTable(flips, labelled), worst.length ? worstTable(worst, name) : null));
  return parts;
} });

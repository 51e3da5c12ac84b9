// Which predictions the best model changed.
'use strict';
sections.push({ id: 'flips', title: 'Changed predictions', build: () => {
  const flips = at(search.result, 'best', 'flips');
  if (!flips) return null;
  const { samples, changed, gained, lost } = flips, labelled = isNumber(gained);
  const parts = [element('p', { class: 'note' }, `${changed} of ${samples} predictions differ from the float model's (${percent(changed / samples, 2)})` + (labelled ? `: ${lost} became wrong, ${gained} became right.` : '.'))];
  const classes = (flips.classes || []).filter((one) => one.changed > 0);
  const side = [];
  if (classes.length) {
    const columns = [{ title: labelled ? 'class (label)' : 'class (float)', value: (one) => one.class }, { title: 'samples', value: (one) => one.samples }, { title: 'changed', value: (one) => one.changed }, { title: 'share', value: (one) => one.changed / one.samples, show: (one) => percent(one.changed / one.samples) }];
    if (labelled) columns.push({ title: 'became wrong', value: (one) => one.lost }, { title: 'became right', value: (one) => one.gained });
    side.push(element('div', {}, element('h3', {}, 'By class'), table(columns, classes, { sort: { column: 2, down: true }, limit: 50, tall: classes.length > 12 })));
  }
  if ((flips.worst || []).length) {
    const name = objectiveOf(search).name, columns = [{ title: 'sample', value: (one) => one.sample }];
    if (flips.worst.some((one) => isNumber(one.label))) columns.push({ title: 'label', value: (one) => one.label });
    if (flips.worst.some((one) => isNumber(one.float))) columns.push({ title: 'float says', value: (one) => one.float }, { title: 'best says', value: (one) => one.best, show: (one) => element('span', { class: one.best === one.float ? '' : 'bad' }, String(one.best)) });
    columns.push({ title: name, value: (one) => one.value, show: (one) => number(one.value) });
    side.push(element('div', {}, element('h3', {}, 'Samples that differ most'), table(columns, flips.worst, { limit: 50, tall: flips.worst.length > 12 })));
  }
  parts.push(element('div', { class: 'pair' }, side));
  return parts;
} });

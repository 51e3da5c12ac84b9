// The way of a strategy that repairs: what it changed, what that brought, and what it had to leave in float.
'use strict';
// A trial that was given up early has no value, and is known to be on the other side of the goal.
function ifQuantized(name, one) {
  if (isNumber(one.quantized_gives)) return score(name, one.quantized_gives);
  if (isNumber(one.quantized_gives_at_most)) return `at most ${score(name, one.quantized_gives_at_most)}`;
  return isNumber(one.quantized_gives_at_least) ? `at least ${score(name, one.quantized_gives_at_least)}` : 'not tried';
}

sections.push({ id: 'tuning', title: 'Way to the goal', build: () => {
  const story = at(search.result, 'tuning'), name = objectiveOf(search).name;
  if (!story) return null;
  const { steps = [], float: given = [] } = story, parts = [];
  if (steps.length) parts.push(element('div', {}, element('h3', {}, 'Steps'), table([
    { title: '#', value: (step) => steps.indexOf(step) + 1 }, { title: 'step', text: 'text', value: (step) => step.step }, { title: 'change', text: 'text wrap', value: (step) => words(step.change ?? '') }, { title: 'trial', value: (step) => step.trial },
    { title: name, value: (step) => step.value, show: (step) => score(name, step.value) },
    ...(steps.some((step) => isNumber(step.float)) ? [{ title: 'in float', value: (step) => step.float, help: 'Operators that the trial leaves in float' }] : []),
    ...(steps.some((step) => 'kept' in step) ? [{ title: 'kept', text: 'text', value: (step) => (step.kept ? 'yes' : 'no'), show: (step) => element('span', { class: step.kept ? 'good' : 'soft' }, step.kept ? 'kept' : 'undone') }] : [])], steps, { tall: steps.length > 14, sort: { column: 0 } })));
  if (given.length) parts.push(element('div', {}, element('h3', {}, 'Left in float'), element('p', { class: 'note' }, `What ${name} would be if the operator were quantized too, with everything else as it is.`), table([
    { title: 'operator', value: (one) => one.node }, { title: `${name} if quantized`, value: (one) => one.quantized_gives, show: (one) => ifQuantized(name, one) },
    { title: 'error alone', value: (one) => one.output_error, show: (one) => number(one.output_error, 3), help: 'Distance at the model\'s outputs when only this operator is quantized' },
    { title: 'why', text: 'text wrap', value: (one) => one.why ?? '' }], given, { tall: given.length > 14 })));
  return parts.length ? parts : null;
} });

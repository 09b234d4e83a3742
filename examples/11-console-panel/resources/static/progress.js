// A panel on the page of each task. `textContent` sets the text, so the browser does not interpret markup in an object.
export function mount(element, { object }) {
  const done = object.spec.done ?? 0;
  const bar = document.createElement('progress');
  bar.max = 100;
  bar.value = done;
  bar.setAttribute('aria-label', 'Done');
  const text = document.createElement('p');
  text.textContent = `${done} % of “${object.spec.title}” is done.`;
  element.append(bar, text);
}

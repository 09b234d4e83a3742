import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { go } from '../state/route.ts';

/**
 * The purpose for which the palette is open: `/` searches kinds and names, `:` jumps to a kind by its name or short
 * name.
 */
export const paletteMode = signal<'search' | 'jump' | undefined>(undefined);
export const isHelpOpen = signal(false);

export interface Shortcut {
  readonly keys: string;
  readonly does: string;
}

export const shortcuts: readonly Shortcut[] = [
  { keys: '/', does: 'Search kinds and names' },
  { keys: ':', does: 'Jump to a kind by its name or short name' },
  { keys: '?', does: 'Show these keys' },
  { keys: 'g o', does: 'Go to the overview' },
  { keys: 'g p', does: 'Go to the plugins' },
  { keys: 'g c', does: 'Go to the controllers' },
  { keys: 'g w', does: 'Go to the watch page' },
  { keys: 'g a', does: 'Go to access' },
  { keys: '↑ ↓ or k j', does: 'Move between the rows of a list' },
  { keys: 'Enter', does: 'Open the row' },
  { keys: 'Space', does: 'Select the row' },
  { keys: 'Escape', does: 'Close the dialog' },
];

const places: Readonly<Record<string, string>> = {
  o: '#/',
  p: '#/plugins',
  c: '#/controllers',
  w: '#/watch',
  a: '#/access',
};

/** True for elements that handle pressed keys themselves: input fields, selects and the editor. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  // The editor is in a shadow root, so the target of its events is the host of the root. So an element with a shadow
  // root is taken for the editor.
  return target.isContentEditable || target.shadowRoot !== null || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** Listens to the keys that work on every page. */
export function useShortcuts(): void {
  useEffect(() => {
    let previous = '';
    const onKey = (event: KeyboardEvent): void => {
      const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
      if (!isPlain || isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
      const { key } = event;
      const place = previous === 'g' ? places[key] : undefined;
      previous = key;
      if (key === '/') paletteMode.value = 'search';
      else if (key === ':') paletteMode.value = 'jump';
      else if (key === '?') isHelpOpen.value = true;
      else if (place !== undefined) go(place);
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

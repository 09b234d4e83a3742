import { effect, signal } from '@preact/signals';
import { browserClock } from '../base/time.ts';

/** The current time, from which ages are computed. It advances only while the page is visible. */
export const now = signal(browserClock.now());

/** False while another tab is in front: watches pause then, since browsers open few connections to one server. */
export const isVisible = signal(!document.hidden);
document.addEventListener('visibilitychange', () => {
  isVisible.value = !document.hidden;
});

function tick(): void {
  if (!document.hidden) now.value = browserClock.now();
  browserClock.after(1000, tick);
}
tick();

export type Theme = 'auto' | 'light' | 'dark';
const themes: readonly Theme[] = ['auto', 'light', 'dark'];
const themeKey = 'homeostat.theme';

export const theme = signal<Theme>(themes.find((each) => each === localStorage.getItem(themeKey)) ?? 'auto');
effect(() => {
  document.documentElement.dataset.theme = theme.value;
  localStorage.setItem(themeKey, theme.value);
});

/** Returns the theme that comes after the current one. */
export function nextTheme(): Theme {
  return themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? 'auto';
}

export interface Notice {
  readonly id: number;
  readonly tone: 'good' | 'bad';
  readonly text: string;
}

/** The short messages that are shown at the corner of the page. */
export const notices = signal<readonly Notice[]>([]);
let lastId = 0;

/** Shows a message for some seconds; a message about a failure stays longer. */
export function notify(tone: Notice['tone'], text: string): void {
  lastId += 1;
  const id = lastId;
  notices.value = [...notices.value, { id, tone, text }].slice(-5);
  browserClock.after(tone === 'good' ? 4000 : 12_000, () => dismiss(id));
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((each) => each.id !== id);
}

import { useLayoutEffect, useState } from 'preact/hooks';
import type { RefObject } from 'preact';

export interface RowWindow {
  readonly start: number;
  readonly end: number;
  /** The total heights of the rows before and after the rendered ones, in pixels. */
  readonly before: number;
  readonly after: number;
}

/** The number of rows that are rendered before and after the visible rows, so that fast scrolling shows no gap. */
const spareRows = 8;

/** Returns the range of rows to render, in a list whose rows all have the same height. */
export function windowOf(list: {
  readonly count: number;
  readonly rowHeight: number;
  readonly top: number;
  readonly height: number;
}): RowWindow {
  const { count, rowHeight, top, height } = list;
  const start = Math.min(count, Math.max(0, Math.floor(top / rowHeight) - spareRows));
  const end = Math.min(count, Math.ceil((top + height) / rowHeight) + spareRows);
  return {
    start,
    end: Math.max(start, end),
    before: start * rowHeight,
    after: (count - Math.max(start, end)) * rowHeight,
  };
}

/** Returns the range of rows to render at the current scroll position of an element. */
export function useRowWindow(ref: RefObject<HTMLElement | null>, count: number, rowHeight: number): RowWindow {
  const [view, setView] = useState({ top: 0, height: 800 });
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    const read = (): void => {
      const step = Math.floor(element.scrollTop / rowHeight) * rowHeight;
      const { clientHeight } = element;
      setView((old) => (old.top === step && old.height === clientHeight ? old : { top: step, height: clientHeight }));
    };
    const observer = new ResizeObserver(read);
    observer.observe(element);
    element.addEventListener('scroll', read, { passive: true });
    read();
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', read);
    };
  }, [rowHeight]);
  return windowOf({ count, rowHeight, ...view });
}

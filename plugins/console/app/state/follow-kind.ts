import { useEffect } from 'preact/hooks';
import { browserClock } from '../base/time.ts';
import { follow } from '../api/watch-client.ts';
import type { FollowOptions, WatchParts } from '../api/watch-client.ts';
import { isVisible } from './page-state.ts';
import { api, sessionNumber } from './session.ts';

/** Calls `run` before the next frame, or after 250 ms in the background, where a page has no frames. */
function batch(run: () => void): void {
  if (document.hidden) browserClock.after(250, run);
  else requestAnimationFrame(run);
}

const watchParts: WatchParts = { api, clock: browserClock, random: () => Math.random(), batch };

/**
 * Follows a kind while the component is shown. Starts again when `key` changes, after a login, and when the tab is in
 * front again.
 */
export function useFollow(key: string, options: Omit<FollowOptions, 'signal'> | undefined): void {
  const number = sessionNumber.value;
  const isShown = isVisible.value;
  useEffect(() => {
    if (options === undefined || !isShown) return undefined;
    const end = new AbortController();
    void follow(watchParts, { ...options, signal: end.signal });
    return () => end.abort();
    // Each rendering creates a new `options` object; only another `key` means that the options differ.
  }, [key, number, isShown]);
}

import { openSync, readSync } from 'node:fs';

/** The interval at which the event loop is probed. */
const tickMs = 1;

/**
 * Measures the longest time for which one turn blocked the event loop. The time is CPU time of the main thread, so that
 * other processes do not affect it. Outside of Linux, it is the CPU time of the process, limited by the elapsed time.
 */
export class EventLoopProbe {
  readonly #cpuMs: () => number = mainThreadClock();
  readonly #timer: NodeJS.Timeout;
  #lastCpuMs = 0;
  #lastMs = 0;
  #longestMs = 0;

  constructor() {
    this.#look();
    this.#longestMs = 0;
    this.#timer = setInterval(() => this.#look(), tickMs);
  }

  /** Returns the duration of the longest turn since the last call. */
  takeLongestMs(): number {
    this.#look();
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    return longestMs;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const [cpuMs, nowMs] = [this.#cpuMs(), performance.now()];
    this.#longestMs = Math.max(this.#longestMs, Math.min(cpuMs - this.#lastCpuMs, nowMs - this.#lastMs));
    [this.#lastCpuMs, this.#lastMs] = [cpuMs, nowMs];
  }
}

function mainThreadClock(): () => number {
  if (process.platform !== 'linux') {
    return () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1000;
    };
  }
  const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  const buffer = Buffer.alloc(64);
  return () => {
    const length = readSync(file, buffer, 0, buffer.length, 0);
    return Number(buffer.toString('latin1', 0, length).split(' ')[0]) / 1e6;
  };
}

import type { Clock, Logger, Timer } from '@homeostat/controller-runtime/api';
import type { FromServing, ToServing } from './process-messages.ts';

/** A process that serves. */
export interface GroupMember {
  send(message: ToServing): void;
  /** Kills the process. */
  kill(): void;
}

/** The callbacks of the group for events of one of its processes. */
export interface MemberEvents {
  readonly onListening: () => void;
  readonly onMessage: (message: FromServing) => void;
  readonly onExit: (code: number | null, signal: string | null) => void;
}

export interface ProcessGroupParts {
  readonly count: number;
  /** Starts the process with the given number. Numbers start at 1. */
  readonly fork: (number: number, events: MemberEvents) => GroupMember;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * The delay before a process that has ended is started again. It doubles each time the process lived for less than a
 * minute.
 */
const firstDelayMs = 1000;
const longestDelayMs = 30_000;
const longLifeMs = 60_000;

/**
 * The time limit for the processes to send their metrics. It is shorter than the time for which the process that
 * gathers the metrics waits.
 */
const measureMs = 2000;

interface Member {
  readonly process: GroupMember;
  readonly startedMs: number;
  isReady: boolean;
}

interface Gathering {
  readonly waiting: Set<number>;
  readonly texts: (readonly [number, string])[];
  readonly answer: () => void;
}

/**
 * The processes of `homeostat serve --processes` or `--workers`. The first process starts alone, because it creates the
 * tables, keys and certificates that all processes read. If the first process ends before it has listened, the group
 * ends with the exit code of that process; later, a process that ends is replaced.
 */
export class ProcessGroup {
  readonly #parts: ProcessGroupParts;
  readonly #members = new Map<number, Member>();
  readonly #timers = new Map<number, Timer>();
  readonly #delays = new Map<number, number>();
  readonly #gatherings = new Map<number, Gathering>();
  #lastGathering = 0;
  #hasListened = false;
  #isStopping = false;
  #wasReady = false;
  #exitCode = 0;
  #onEnd: (code: number) => void = () => {};

  constructor(parts: ProcessGroupParts) {
    this.#parts = parts;
  }

  /** Runs the processes until the signal aborts. Resolves with the exit code when all processes have ended. */
  run(signal: AbortSignal): Promise<number> {
    return new Promise((resolve) => {
      this.#onEnd = resolve;
      signal.addEventListener('abort', () => this.#stop(), { once: true });
      if (signal.aborted) return resolve(0);
      this.#start(1);
    });
  }

  /** Asks all processes to stop; the exit code is then 1. */
  fail(): void {
    this.#exitCode = 1;
    this.#stop();
  }

  /** Kills all processes immediately, without a request to stop. */
  kill(): void {
    for (const { process } of this.#members.values()) process.kill();
  }

  #start(number: number): void {
    const { clock, fork } = this.#parts;
    this.#timers.delete(number);
    const process = fork(number, {
      onListening: () => this.#onListening(number),
      onMessage: (message) => this.#onMessage(number, message),
      onExit: (code, signal) => this.#onExit(number, code, signal),
    });
    this.#members.set(number, { process, startedMs: clock.monotonicMs(), isReady: false });
  }

  #onListening(from: number): void {
    // A process that was still loading its code when the group began to stop may have missed the message.
    if (this.#isStopping) this.#members.get(from)?.process.send({ type: 'stop' });
    if (this.#hasListened || this.#isStopping) return;
    this.#hasListened = true;
    for (let number = 2; number <= this.#parts.count; number += 1) this.#start(number);
  }

  #onMessage(from: number, message: FromServing): void {
    switch (message.type) {
      case 'ready':
        return this.#onReady(from);
      case 'fail':
        return this.fail();
      case 'gather':
        return this.#gather(from, message.id);
      case 'metrics': {
        const gathering = this.#gatherings.get(message.id);
        gathering?.texts.push([from, message.text]);
        return gathering && this.#isMeasured(gathering, from);
      }
    }
  }

  #onReady(number: number): void {
    const member = this.#members.get(number);
    if (member !== undefined) member.isReady = true;
    const ready = [...this.#members.values()].filter(({ isReady }) => isReady).length;
    if (ready < this.#parts.count || this.#wasReady) return;
    this.#wasReady = true;
    this.#parts.logger.info({ processes: ready }, 'all processes are ready');
  }

  #onExit(number: number, code: number | null, signal: string | null): void {
    const { clock, logger } = this.#parts;
    const member = this.#members.get(number);
    this.#members.delete(number);
    for (const gathering of this.#gatherings.values()) this.#isMeasured(gathering, number);
    if (!this.#hasListened && !this.#isStopping) {
      this.#isStopping = true;
      this.#exitCode = code ?? 1;
    }
    if (this.#isStopping) return this.#endIfEmpty();
    const livedMs = clock.monotonicMs() - (member?.startedMs ?? 0);
    const last = livedMs >= longLifeMs ? 0 : (this.#delays.get(number) ?? 0);
    const delayMs = Math.min(longestDelayMs, last === 0 ? firstDelayMs : 2 * last);
    this.#delays.set(number, delayMs);
    logger.error({ process: number, code, signal, delayMs }, 'a process has ended; a new process replaces it');
    this.#timers.set(
      number,
      clock.setTimeout(() => this.#start(number), delayMs),
    );
  }

  #stop(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    for (const timer of this.#timers.values()) this.#parts.clock.clearTimeout(timer);
    for (const { process } of this.#members.values()) process.send({ type: 'stop' });
    this.#endIfEmpty();
  }

  #endIfEmpty(): void {
    if (this.#members.size === 0) this.#onEnd(this.#exitCode);
  }

  #gather(from: number, id: number): void {
    const { clock } = this.#parts;
    const others = [...this.#members].filter(([number]) => number !== from);
    this.#lastGathering += 1;
    const own = this.#lastGathering;
    const texts: (readonly [number, string])[] = [];
    const answer = (): void => {
      clock.clearTimeout(late);
      if (this.#gatherings.delete(own)) this.#members.get(from)?.process.send({ type: 'measured', id, texts });
    };
    const late = clock.setTimeout(answer, measureMs);
    this.#gatherings.set(own, { waiting: new Set(others.map(([number]) => number)), texts, answer });
    for (const [, { process }] of others) process.send({ type: 'measure', id: own });
    if (others.length === 0) answer();
  }

  #isMeasured({ waiting, answer }: Gathering, number: number): void {
    if (waiting.delete(number) && waiting.size === 0) answer();
  }
}

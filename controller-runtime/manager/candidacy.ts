import type { ElectionSettings } from '../election/election-options.ts';
import { LeaderElector, type ElectorParts } from '../election/leader-elector.ts';
import type { Term } from '../election/term.ts';
import { startPart, stopPart, type Part } from './part.ts';

/**
 * Takes part in an election for a manager: tries to acquire the lease until it is elected, renews the lease in the
 * background until the manager has stopped, and then releases the lease.
 */
export class Candidacy {
  readonly #settings: ElectionSettings;
  readonly #parts: ElectorParts;
  readonly #elector: LeaderElector;
  #term: Term | undefined;
  #holding: Part | undefined;
  #isReleased = false;

  constructor(settings: ElectionSettings, parts: ElectorParts) {
    this.#settings = settings;
    this.#parts = parts;
    this.#elector = new LeaderElector(settings, parts);
    this.#observe(false);
  }

  /** True when another process held the lease when it was last read. */
  get seesOther(): boolean {
    const { holder } = this.#elector;
    return this.#term === undefined && holder !== undefined && holder !== this.#settings.identity;
  }

  /** The lease that this process holds, or held last; undefined before the process was elected. */
  get leader(): { readonly lease: string; readonly identity: string; readonly term: number } | undefined {
    if (this.#term === undefined) return undefined;
    const { namespace, name, transitions } = this.#term.epoch;
    return { lease: `${namespace}/${name}`, identity: this.#settings.identity, term: transitions };
  }

  get hasLost(): boolean {
    return this.#term?.signal.aborted === true && !this.#isReleased;
  }

  /**
   * Resolves with the term when this process is elected, or with undefined when the signal aborts before that. After
   * the election, the lease is renewed until {@link leave} is called or the lease is lost.
   */
  async stand(signal: AbortSignal): Promise<Term | undefined> {
    const term = await this.#elector.acquire(signal);
    if (term === undefined) return undefined;
    const { logger } = this.#parts;
    const { transitions } = term.epoch;
    const lease = `${term.epoch.namespace}/${term.epoch.name}`;
    logger.info({ lease, identity: this.#settings.identity, transitions }, 'elected: this process leads');
    this.#term = term;
    this.#observe(true);
    term.signal.addEventListener('abort', () => {
      this.#observe(false);
      if (!this.#isReleased) logger.error({ lease, err: term.signal.reason }, 'the lease is lost');
    });
    this.#holding = startPart((until) => this.#elector.hold(term, until));
    return term;
  }

  async leave(): Promise<void> {
    if (this.#holding !== undefined) await stopPart(this.#holding);
    this.#isReleased = !this.hasLost;
    await this.#elector.release();
  }

  healthProblem(): string | undefined {
    const { namespace, name } = this.#settings;
    return this.#elector.isOverdue ? `the lease "${namespace}/${name}" was neither renewed nor released` : undefined;
  }

  #observe(isLeader: boolean): void {
    const { name, observe } = this.#settings;
    try {
      observe({ name, isLeader });
    } catch (err) {
      this.#parts.logger.error({ err, lease: name }, 'the callback "observe" of the election failed');
    }
  }
}

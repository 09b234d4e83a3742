const kept = 16_384;

/** The users of a write; the server itself has none. */
interface Writer {
  readonly user?: { readonly username: string } | undefined;
  readonly author?: { readonly username: string } | undefined;
}

/** The users who made the last writes of this process, by revision. The log does not store users. */
export class RecentWriters {
  readonly #revisions = new Float64Array(kept);
  readonly #users: string[] = [];
  #count = 0;

  note(revision: number, { user, author }: Writer): void {
    const at = this.#count % kept;
    this.#revisions[at] = revision;
    this.#users[at] = (user ?? author)?.username ?? 'system:apiserver';
    this.#count += 1;
  }

  /** Undefined for a write of another process, and for an older one. */
  of(revision: number): string | undefined {
    return this.#users[this.#revisions.indexOf(revision)];
  }
}

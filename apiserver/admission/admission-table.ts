import type { Client } from '@homeostat/controller-runtime';
import { apiVersionOf } from '@homeostat/controller-runtime/api';
import type { GroupVersionKind, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { keyPrefixOf } from '../store/object-key.ts';
import type { Admission } from './admission.ts';
import type { MountedHooks } from './call-hook.ts';

/** The timeout of a hook's call. Its default and its maximum are those of Kubernetes' webhooks. */
const defaultTimeoutMs = 10_000;
const maxTimeoutMs = 30_000;

export interface AdmissionOwnerOptions {
  /** The `client` that hooks receive. */
  readonly client: Client;
  /**
   * The plugins on which this plugin depends. This plugin may add hooks for kinds of those plugins; its hooks run after
   * the hooks of the plugins that own the kinds. Default none.
   */
  readonly dependencies?: readonly string[];
}

/** The hooks of one plugin. */
export interface OwnedAdmission {
  /**
   * Adds hooks for a kind.
   * @throws TypeError for a value that is not an Admission, or whose timeout is out of range; Error when the kind is
   * not registered, when it belongs neither to the plugin nor to one of its dependencies, or after `close`.
   */
  add(admission: Admission): void;
  /** Removes all hooks of the plugin; calls of hooks that are in progress fail (503). */
  close(): void;
}

/** The hooks of plugins. */
export interface Admissions {
  /**
   * Returns the interface with which a plugin adds hooks. @throws Error while an interface for the same name is not
   * closed
   */
  forOwner(name: string, options: AdmissionOwnerOptions): OwnedAdmission;
}

export interface AdmissionTableParts {
  /** Finds the registered model of a kind, and the name of the plugin to which the kind belongs. */
  readonly lookup: (
    gvk: GroupVersionKind,
  ) => { readonly owner: string; readonly descriptor: ModelDescriptor } | undefined;
}

interface Owner {
  readonly name: string;
  readonly options: AdmissionOwnerOptions;
  /** A number that is greater than the ranks of all plugins that this plugin depends on. */
  readonly rank: number;
  readonly abort: AbortController;
}

interface Mounted extends MountedHooks {
  readonly owner: Owner;
}

/**
 * Keeps the hooks of each kind in the order of their calls: by the `rank` of the plugin, so that a plugin's hooks are
 * called after the hooks of its dependencies, and for equal ranks by the plugin's name. The hooks of one plugin are in
 * the order in which the plugin added them.
 */
export class AdmissionTable implements Admissions {
  /** True while no kind has hooks. Only this class changes it. */
  isEmpty = true;
  readonly #parts: AdmissionTableParts;
  readonly #owners = new Map<string, Owner>();
  readonly #hooks = new Map<string, readonly Mounted[]>();

  constructor(parts: AdmissionTableParts) {
    this.#parts = parts;
  }

  /** Returns the hooks of the kind with this key prefix; undefined when the kind has none, which is the usual case. */
  hooksOf(keyPrefix: string): readonly MountedHooks[] | undefined {
    return this.#hooks.get(keyPrefix);
  }

  forOwner(name: string, options: AdmissionOwnerOptions): OwnedAdmission {
    if (this.#owners.has(name)) throw new Error(`the plugin "${name}" has hooks already`);
    const { dependencies = [] } = options;
    const ranks = dependencies.map((dependency) => this.#owners.get(dependency)?.rank ?? 0);
    const owner: Owner = { name, options, rank: 1 + Math.max(0, ...ranks), abort: new AbortController() };
    this.#owners.set(name, owner);
    return Object.freeze<OwnedAdmission>({
      add: (admission) => this.#add(owner, admission),
      close: () => this.#close(owner),
    });
  }

  /**
   * Removes the hooks of a kind that is no longer registered, so that they do not apply to a later kind of the same
   * name.
   */
  forgetKind(model: ModelDescriptor): void {
    this.#hooks.delete(keyPrefixOf(model));
    this.isEmpty = this.#hooks.size === 0;
  }

  #add(owner: Owner, admission: Admission): void {
    if (owner.abort.signal.aborted) throw new Error(`the hooks of "${owner.name}" have been removed`);
    const { model, hooks, timeoutMs = defaultTimeoutMs } = checkAdmission(admission);
    this.#checkKind(owner, model);
    const { client } = owner.options;
    const { name, abort } = owner;
    const mounted: Mounted = { owner, plugin: name, model, hooks, timeoutMs, client, signal: abort.signal };
    const key = keyPrefixOf(model);
    this.#hooks.set(key, [...(this.#hooks.get(key) ?? []), mounted].sort(compareOwners));
    this.isEmpty = false;
  }

  #checkKind({ name, options }: Owner, model: ModelDescriptor): void {
    const what = `the plugin "${name}" cannot have hooks for ${apiVersionOf(model)} ${model.kind}`;
    const registration = this.#parts.lookup(model);
    if (registration === undefined)
      throw new Error(`${what}: the kind is not registered; register it, or depend on the plugin that does`);
    const { owner } = registration;
    if (owner !== name && options.dependencies?.includes(owner) !== true)
      throw new Error(`${what}: the kind belongs to "${owner}", which is not a dependency of the plugin`);
  }

  #close(owner: Owner): void {
    if (this.#owners.get(owner.name) !== owner) return;
    this.#owners.delete(owner.name);
    for (const [key, hooks] of this.#hooks) {
      const left = hooks.filter((each) => each.owner !== owner);
      if (left.length === 0) this.#hooks.delete(key);
      else this.#hooks.set(key, left);
    }
    this.isEmpty = this.#hooks.size === 0;
    owner.abort.abort(new Error(`the plugin "${owner.name}" has been stopped`));
  }
}

/** Checks the admission at run time, because a plugin may be plain JavaScript. */
function checkAdmission(admission: Admission): Admission {
  const { model, hooks, timeoutMs } = (admission ?? {}) as Partial<Admission>;
  if (typeof model !== 'object' || typeof hooks !== 'object' || hooks === null)
    throw new TypeError('hooks must be the result of admit(model, hooks)');
  const isRange = timeoutMs === undefined || (timeoutMs >= 1 && timeoutMs <= maxTimeoutMs);
  if (!isRange)
    throw new TypeError(`the timeoutMs of hooks must be from 1 to ${maxTimeoutMs}, not ${String(timeoutMs)}`);
  return admission;
}

function compareOwners({ owner: a }: Mounted, { owner: b }: Mounted): number {
  return a.rank - b.rank || Number(a.name > b.name) - Number(a.name < b.name);
}

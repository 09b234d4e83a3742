import { MatchConditions } from '../cel/conditions/match-conditions.ts';
import { admissionGroup, mutatingWebhookKind, validatingWebhookKind } from '../builtin/webhook-kinds.ts';
import type { Webhook, WebhookConfiguration } from '../builtin/objects/webhook-objects.ts';
import type { Entry } from '../index/entry.ts';
import { CompiledSelectors } from '../matching/match-selectors.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { decodeObject } from '../registry/object/object-codec.ts';

/** A configured webhook, with its prepared conditions. */
export interface ListedWebhook {
  readonly webhook: Webhook;
  readonly configuration: string;
  readonly selectors: CompiledSelectors;
  readonly conditions: MatchConditions;
}

/**
 * The webhooks of one kind of configuration at one time. When a configuration changes, a new listing replaces this one.
 */
class Listing {
  readonly webhooks: readonly ListedWebhook[];
  readonly #entries: readonly Entry[];
  readonly #covered = new WeakMap<Resource, boolean>();

  constructor(entries: readonly Entry[], webhooks: readonly ListedWebhook[]) {
    this.#entries = entries;
    this.webhooks = webhooks;
  }

  isOf({ cache }: Resource): boolean {
    if (cache.size !== this.#entries.length) return false;
    let at = 0;
    for (const entry of cache.entries()) {
      if (this.#entries[at] !== entry) return false;
      at += 1;
    }
    return true;
  }

  covers(resource: Resource): boolean {
    const known = this.#covered.get(resource);
    if (known !== undefined) return known;
    const { group, plural } = resource.model;
    const found = this.webhooks.some(({ webhook }) => concerns(webhook, group, plural));
    this.#covered.set(resource, found);
    return found;
  }
}

const emptyListing = new Listing([], []);

/**
 * Keeps the latest list of the webhooks of one kind of configuration, in the order in which they are called. The list
 * is kept because each write reads it several times.
 */
class Listings {
  readonly #configurations: () => Resource | undefined;
  /** The webhooks of each stored configuration. An entry never changes, so it is read only once. */
  readonly #read = new WeakMap<Entry, readonly ListedWebhook[]>();
  #latest = emptyListing;

  constructor(configurations: () => Resource | undefined) {
    this.#configurations = configurations;
  }

  latest(): Listing {
    const resource = this.#configurations();
    if (resource === undefined || resource.cache.size === 0) return emptyListing;
    if (this.#latest.isOf(resource)) return this.#latest;
    const entries = [...resource.cache.entries()];
    const byName = entries.toSorted((a, b) => Number(a.name > b.name) - Number(a.name < b.name));
    this.#latest = new Listing(
      entries,
      byName.flatMap((entry) => this.#webhooksOf(entry)),
    );
    return this.#latest;
  }

  #webhooksOf(entry: Entry): readonly ListedWebhook[] {
    const known = this.#read.get(entry);
    if (known !== undefined) return known;
    // The server checks configurations before it stores them, so a stored configuration is valid.
    const { metadata, webhooks = [] } = decodeObject<WebhookConfiguration>(entry.bytes);
    const listed = webhooks.map((webhook) => ({
      webhook,
      configuration: metadata.name,
      selectors: new CompiledSelectors(webhook),
      conditions: new MatchConditions(webhook.matchConditions ?? []),
    }));
    this.#read.set(entry, listed);
    return listed;
  }
}

/**
 * The configured webhooks, in the order of their calls: by the name of the configuration, then by the webhook's
 * position in the configuration.
 */
export class WebhookList {
  readonly #mutating: Listings;
  readonly #validating: Listings;

  constructor(table: ResourceTable) {
    this.#mutating = new Listings(table.getterOf(mutatingWebhookKind));
    this.#validating = new Listings(table.getterOf(validatingWebhookKind));
  }

  /**
   * Returns true when some webhook may be called for writes of this kind. Most servers have no webhook configurations;
   * on them, the result is always false.
   */
  readonly covers = (resource: Resource): boolean => {
    // No webhook is called for writes of webhook configurations: a webhook that refuses everything must not prevent the
    // removal of its own configuration.
    if (resource.model.group === admissionGroup) return false;
    return this.#mutating.latest().covers(resource) || this.#validating.latest().covers(resource);
  };

  mutating(): readonly ListedWebhook[] {
    return this.#mutating.latest().webhooks;
  }

  validating(): readonly ListedWebhook[] {
    return this.#validating.latest().webhooks;
  }
}

/** Returns true when the webhook has a rule for the kind, so that it may be called for some writes of this kind. */
function concerns({ rules = [] }: Webhook, group: string, plural: string): boolean {
  return rules.some(({ apiGroups = [], resources = [] }) => {
    const isGroup = apiGroups.includes('*') || apiGroups.includes(group);
    return isGroup && resources.some((resource) => ['*', plural].includes(resource.split('/', 1)[0] ?? ''));
  });
}

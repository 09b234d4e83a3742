import { MatchConditions } from '../cel/conditions/match-conditions.ts';
import { admissionGroup, mutatingWebhookKind, validatingWebhookKind } from '../builtin/webhook-kinds.ts';
import type { Webhook, WebhookConfiguration } from '../builtin/objects/webhook-objects.ts';
import type { Entry } from '../index/entry.ts';
import { CompiledSelectors } from '../matching/match-selectors.ts';
import type { Resource } from '../registry/kinds/resource.ts';
import type { ResourceTable } from '../registry/kinds/resource-table.ts';
import { decodeObject } from '../registry/object/object-codec.ts';

/** A webhook that is ready to be matched. */
export interface ListedWebhook {
  readonly webhook: Webhook;
  readonly configuration: string;
  readonly selectors: CompiledSelectors;
  readonly conditions: MatchConditions;
}

/** The configured webhooks, in the order of their calls: by the names of configurations, then as listed. */
export class WebhookList {
  readonly #kinds: readonly (() => Resource | undefined)[];
  /** What was read from each stored configuration. An entry never changes, so it is read once. */
  readonly #read = new WeakMap<Entry, readonly ListedWebhook[]>();

  constructor(table: ResourceTable) {
    this.#kinds = [mutatingWebhookKind, validatingWebhookKind].map((kind) => table.getterOf(kind));
  }

  /** True when a webhook may be asked about writes of this kind. Most servers have no configuration at all. */
  readonly covers = ({ model: { group, plural } }: Resource): boolean => {
    // A webhook that refuses everything must not prevent its own removal.
    if (group === admissionGroup) return false;
    const [first, second] = this.#kinds;
    if ((first?.()?.cache.size ?? 0) === 0 && (second?.()?.cache.size ?? 0) === 0) return false;
    return [...this.mutating(), ...this.validating()].some(({ webhook }) => concerns(webhook, group, plural));
  };

  mutating(): readonly ListedWebhook[] {
    return this.#of(this.#kinds[0]?.());
  }

  validating(): readonly ListedWebhook[] {
    return this.#of(this.#kinds[1]?.());
  }

  #of(resource: Resource | undefined): readonly ListedWebhook[] {
    if (resource === undefined || resource.cache.size === 0) return [];
    const entries = [...resource.cache.entries()];
    if (entries.length > 1) entries.sort((a, b) => Number(a.name > b.name) - Number(a.name < b.name));
    return entries.flatMap((entry) => this.#webhooksOf(entry));
  }

  #webhooksOf(entry: Entry): readonly ListedWebhook[] {
    const known = this.#read.get(entry);
    if (known !== undefined) return known;
    // Configurations are valid, since the server has written them.
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

/** True when a webhook may be asked about some write of a kind. */
function concerns({ rules = [] }: Webhook, group: string, plural: string): boolean {
  return rules.some(({ apiGroups = [], resources = [] }) => {
    const isGroup = apiGroups.includes('*') || apiGroups.includes(group);
    return isGroup && resources.some((resource) => ['*', plural].includes(resource.split('/', 1)[0] ?? ''));
  });
}

import { invalidValue } from '@homeostat/controller-runtime/api';
import type { FieldCause } from '@homeostat/controller-runtime/api';

/**
 * The author of a write: a client over HTTP, a plugin with its in-process client, or the program that runs the server.
 */
export type Writer = 'user' | 'plugin' | 'service';

export interface LabelKeyRules {
  readonly writer: Writer;
  /** The service domain. Only the service may use this domain, and the domains below it, as prefixes. */
  readonly serviceDomain: string;
}

type Labels = Readonly<Record<string, string>> | undefined;

/** The maximum number of refused keys that a response lists. People read the list, so a longer one is of no use. */
const maxCauses = 100;

const nothing: readonly FieldCause[] = Object.freeze([]);

/**
 * Returns an error cause for each label key that this writer may neither add nor change (specification, section 2.5),
 * at most {@link maxCauses}. Keys that stay unchanged are not checked, because other writers may have added them.
 */
export function labelKeyCauses(next: Labels, previous: Labels, rules: LabelKeyRules): readonly FieldCause[] {
  if (next === undefined || next === previous || rules.writer === 'service') return nothing;
  const causes: FieldCause[] = [];
  for (const [key, value] of Object.entries(next)) {
    if (previous !== undefined && Object.hasOwn(previous, key) && previous[key] === value) continue;
    const rule = brokenRule(key, rules);
    if (rule !== undefined) causes.push(invalidValue('metadata.labels', key, rule));
    if (causes.length === maxCauses) break;
  }
  return causes;
}

function brokenRule(key: string, { writer, serviceDomain }: LabelKeyRules): string | undefined {
  const slash = key.indexOf('/');
  if (slash < 0) return writer === 'plugin' ? "a plugin's key needs a prefix: <domain>/<name>" : undefined;
  const prefix = key.slice(0, slash);
  const isReserved = prefix === serviceDomain || prefix.endsWith(`.${serviceDomain}`);
  return isReserved ? `prefixes at and below ${serviceDomain} are reserved for the server` : undefined;
}

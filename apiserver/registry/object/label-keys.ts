import { invalidValue } from '@homeostat/controller-runtime/api';
import type { FieldCause } from '@homeostat/controller-runtime/api';

/**
 * The author of a write: a client over HTTP, a plugin by its client in process, or the program that runs the server.
 */
export type Writer = 'user' | 'plugin' | 'service';

export interface LabelKeyRules {
  readonly writer: Writer;
  /** Prefixes equal to this domain, or below it, are the service's own. */
  readonly serviceDomain: string;
}

type Labels = Readonly<Record<string, string>> | undefined;

/** The maximum number of keys in a response, because people read it. */
const maxCauses = 100;

const nothing: readonly FieldCause[] = Object.freeze([]);

/**
 * The keys that this writer may not add, or change the value of (spec 2.5). Keys that were there before are not checked
 * again: others may have added them.
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
  if (slash < 0) return writer === 'plugin' ? "a plugin's key needs a prefix: its own domain, and a slash" : undefined;
  const prefix = key.slice(0, slash);
  const isReserved = prefix === serviceDomain || prefix.endsWith(`.${serviceDomain}`);
  return isReserved ? `prefixes at and below ${serviceDomain} are reserved for the service` : undefined;
}

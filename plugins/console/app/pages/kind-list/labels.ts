/** The values of labels or annotations in a merge patch; null removes the label or annotation. */
export type Patched = Readonly<Record<string, string | null>>;

/**
 * Reads a text such as `team=red, tier-`, where `-` at the end removes a label. Returns the problem, as a text, if
 * there is one.
 */
export function parseLabels(text: string): Patched | string {
  const labels: Record<string, string | null> = {};
  for (const part of text.split(',').map((each) => each.trim())) {
    const [, key = '', value] = /^([^\s=]+?)(?:=([^\s=]*)|-)$/.exec(part) ?? [];
    if (key === '') return part === '' ? 'write at least one label' : `“${part}” is neither name=value nor name-`;
    labels[key] = value ?? null;
  }
  return labels;
}

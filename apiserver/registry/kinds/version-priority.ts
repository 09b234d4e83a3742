const form = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/;

// The ranks of the stages of a version. A stable version has no stage; it ranks above both stages.
const ranks: Readonly<Record<string, number>> = { alpha: 0, beta: 1 };

/**
 * Compares two versions for a sort in the order of Kubernetes: `v2`, `v1`, `v1beta2`, `v1beta1`, `v1alpha1`. Returns a
 * negative number when `a` comes first.
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (const [index, part] of left.entries()) {
    const difference = (right[index] ?? 0) - part;
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Returns the rank of the stage, the major number, and the number within the stage. */
function partsOf(version: string): readonly [stage: number, major: number, minor: number] {
  const [, major = '0', stage = '', minor = '0'] = form.exec(version) ?? [];
  return [ranks[stage] ?? 2, Number(major), Number(minor)];
}

const form = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/;

// Ranks of the stages of a version; a stable version has no stage.
const ranks: Readonly<Record<string, number>> = { alpha: 0, beta: 1 };

/**
 * Orders versions by Kubernetes' preference: `v2`, `v1`, `v1beta2`, `v1beta1`, `v1alpha1`. Negative when `a` comes
 * first.
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (const [index, part] of left.entries()) {
    const difference = (right[index] ?? 0) - part;
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Stage, major, and number within the stage. */
function partsOf(version: string): readonly [stage: number, major: number, minor: number] {
  const [, major = '0', stage = '', minor = '0'] = form.exec(version) ?? [];
  return [ranks[stage] ?? 2, Number(major), Number(minor)];
}

import { useEffect, useState } from 'preact/hooks';
import { isArray, isObject, textOf } from '../base/json.ts';
import { textsIn } from '../base/object.ts';
import { plugins } from '../state/plugins.ts';
import { api, mayGet } from '../state/session.ts';
import { phaseOf } from './plugin-phase.tsx';

/** An extension point, and the plugin of each contribution. */
export interface Point {
  /** `<plugin>/<point>`. */
  readonly name: string;
  readonly contributions: readonly string[];
}

const path = '/debug/extensions';

/**
 * Returns the extension points of all plugins, and reads them again after each change of a phase. The list is empty for
 * users who may not read it.
 */
export function useExtensionPoints(): readonly Point[] {
  const [points, setPoints] = useState<readonly Point[]>([]);
  const isAllowed = mayGet(path);
  const phases = [...plugins.value].map(([name, plugin]) => `${name} ${phaseOf(plugin)}`).join();
  useEffect(() => {
    if (!isAllowed) return;
    // If the extension points cannot be read, the page shows everything else.
    void api.get(path).then(
      (body) => setPoints(pointsIn(body)),
      () => undefined,
    );
  }, [isAllowed, phases]);
  return points;
}

function pointsIn(body: unknown): readonly Point[] {
  const items = isObject(body) && isArray(body.items) ? body.items.filter(isObject) : [];
  return items.map(({ name, contributions }) => ({ name: textOf(name), contributions: textsIn(contributions) }));
}

/** Shows the extension points that a plugin declares, and those to which it contributes. */
export function Points({ name, points }: { readonly name: string; readonly points: readonly Point[] }) {
  const own = points.filter((point) => point.name.startsWith(`${name}/`));
  const used = points.filter(({ contributions }) => contributions.includes(name));
  return (
    <>
      {own.length === 0 ? null : (
        <p class="muted">Extension points: {own.map((point) => `${point.name} (${users(point)})`).join(', ')}</p>
      )}
      {used.length === 0 ? null : (
        <p class="muted">
          Contributes to:{' '}
          {used
            .map((point) => `${point.name} (${point.contributions.filter((each) => each === name).length})`)
            .join(', ')}
        </p>
      )}
    </>
  );
}

function users({ contributions }: Point): string {
  const names = [...new Set(contributions)];
  return names.length === 0 ? 'no contribution' : `used by ${names.join(', ')}`;
}

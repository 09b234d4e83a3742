import { useEffect, useState } from 'preact/hooks';
import { isObject, textOf } from '../../base/json.ts';
import { textsIn } from '../../base/object.ts';
import type { ApiObject } from '../../base/object.ts';
import { pathOf } from '../../api/resources.ts';
import { Text } from '../../parts/basics.tsx';
import type { Place } from '../../state/place.ts';
import type { ControllerInfo } from '../../state/controllers.ts';
import { api } from '../../state/session.ts';

/** The states that need no explanation. */
const wellStates = new Set(['Ready', 'Reconciled', 'Unknown']);

interface Props {
  readonly place: Place;
  readonly object: ApiObject;
  readonly controllers: readonly ControllerInfo[];
}

/** Shows the server's explanation of an object that has a problem. */
export function Explanation({ place, object, controllers }: Props) {
  const [sentences, setSentences] = useState<readonly string[]>([]);
  const { resource, namespace, name } = place;
  const key = namespace === '' ? name : `${namespace}/${name}`;
  // A failing run changes the explanation, but not the object. So the explanation is read again also when the
  // controllers report something else about the object.
  const entries = controllers.flatMap(({ kind, keys }) =>
    kind === resource.kind ? keys.filter((each) => each.key === key) : [],
  );
  useEffect(() => {
    const end = new AbortController();
    const read = async (): Promise<void> => {
      const found = await api.get(`${pathOf(resource, namespace, name)}/explanation`, {}, end.signal);
      if (!isObject(found)) return;
      const isWell = wellStates.has(textOf(found.state));
      setSentences(isWell ? [] : [textOf(found.summary), ...textsIn(found.details)]);
    };
    // If the explanation cannot be read, the page shows everything else.
    read().catch(() => undefined);
    return () => end.abort();
  }, [object.metadata.resourceVersion, JSON.stringify(entries)]);
  if (sentences.length === 0) return null;
  return (
    <div class="explanation" role="status">
      {sentences.map((each) => (
        <p key={each}>
          <Text value={each} length={500} />
        </p>
      ))}
    </div>
  );
}

import { dump } from 'js-yaml';
import { useMemo, useState } from 'preact/hooks';
import { textOf } from '../../base/json.ts';
import { managersOf } from '../../base/object.ts';
import type { ApiObject } from '../../base/object.ts';
import { Age, Badge, Card } from '../../parts/basics.tsx';
import { CodeEditor } from '../../parts/code-editor.tsx';
import { ValueView } from '../../parts/value-view.tsx';
import type { Place } from '../../state/place.ts';

interface Props {
  readonly place: Place;
  readonly object: ApiObject;
}

/** The tab that shows the object as YAML (by default without managedFields), and beside it the field managers. */
export function RawTab({ object }: Props) {
  const [isWhole, setWhole] = useState(false);
  const text = useMemo(() => {
    const { managedFields: _managedFields, ...metadata } = object.metadata;
    return dump(isWhole ? object : { ...object, metadata }, { lineWidth: 120 });
  }, [object, isWhole]);
  return (
    <div class="columns">
      <Card
        title="YAML"
        aside={
          <label class="check">
            <input type="checkbox" checked={isWhole} onChange={() => setWhole(!isWhole)} />
            with managed fields
          </label>
        }
      >
        <CodeEditor value={text} label="YAML of the object" />
      </Card>
      <Card title="Field managers">
        {managersOf(object).map((each, index) => (
          <details key={index} class="manager">
            <summary>
              <strong>{textOf(each.manager)}</strong> <Badge tone="quiet">{textOf(each.operation)}</Badge>{' '}
              <span class="muted">
                {textOf(each.subresource)} <Age time={textOf(each.time)} />
              </span>
            </summary>
            <ValueView value={each.fieldsV1} />
          </details>
        ))}
      </Card>
    </div>
  );
}

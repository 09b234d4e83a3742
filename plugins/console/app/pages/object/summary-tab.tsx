import { conditionsOf, entriesOf, isBadCondition, ownersOf, textsIn } from '../../base/object.ts';
import type { ApiObject, Condition } from '../../base/object.ts';
import { isObject, textOf } from '../../base/json.ts';
import type { Json } from '../../base/json.ts';
import { keyOf } from '../../api/resources.ts';
import { Age, Badge, Card, Chips, Text } from '../../parts/basics.tsx';
import { ValueView } from '../../parts/value-view.tsx';
import { useControllers } from '../../state/controllers.ts';
import { kindOfObject } from '../../state/kinds.ts';
import { objectHref } from '../../state/route.ts';
import { PluginPanels } from '../extensions/plugin-panels.tsx';
import { Explanation } from './explanation.tsx';
import { Blocked } from './blocked.tsx';
import { SubjectAccess } from './subject-access.tsx';
import type { Place } from '../../state/place.ts';

interface Props {
  readonly place: Place;
  readonly object: ApiObject;
}

/** Fields that other parts of the page show. */
const shownElsewhere = new Set(['apiVersion', 'kind', 'metadata', 'status']);

/** The tab with the summary of an object: its fields, its state, and the panels of plugins. */
export function SummaryTab({ place, object }: Props) {
  const { list: controllers = [] } = useControllers();
  const fields = Object.entries(object).filter(([key]) => !shownElsewhere.has(key));
  const { spec } = object;
  const own: Json = fields.length === 1 && isObject(spec) ? spec : Object.fromEntries(fields);
  return (
    <div class="stack">
      <Explanation {...{ place, object, controllers }} />
      {object.metadata.deletionTimestamp === undefined ? null : <Blocked {...{ place, object, controllers }} />}
      <div class="columns">
        <div class="stack">
          <Conditions conditions={conditionsOf(object)} />
          <Card title={fields.length === 1 && isObject(spec) ? 'Spec' : 'Fields'}>
            <ValueView value={own} />
          </Card>
          <Status object={object} />
          <SubjectAccess place={place} object={object} />
        </div>
        <div class="stack">
          <Metadata place={place} object={object} />
          <PluginPanels place={place} object={object} />
        </div>
      </div>
    </div>
  );
}

function Conditions({ conditions }: { readonly conditions: readonly Condition[] }) {
  if (conditions.length === 0) return null;
  return (
    <Card title="Conditions">
      <ul class="rows-list">
        {conditions.map(({ type, status, reason, message, lastTransitionTime }) => (
          <li key={type}>
            <Badge tone={toneOf({ type, status })}>{status}</Badge>
            <strong>{type}</strong>
            <span class="grow">
              {reason === type ? null : <span class="muted">{reason} </span>}
              <Text value={message} />
            </span>
            <span class="muted">
              <Age time={lastTransitionTime} />
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/**
 * Returns the colour of a condition. The type decides whether False is bad; for an unknown type, False is shown as
 * neutral.
 */
function toneOf(condition: Pick<Condition, 'type' | 'status'>): 'good' | 'bad' | 'quiet' | 'busy' {
  if (isBadCondition(condition)) return 'bad';
  if (condition.status === 'True') return 'good';
  return condition.status === 'False' ? 'quiet' : 'busy';
}

function Status({ object }: { readonly object: ApiObject }) {
  if (!isObject(object.status)) return null;
  const { conditions: _conditions, ...status } = object.status;
  if (Object.keys(status).length === 0) return null;
  return (
    <Card title="Status">
      <ValueView value={status} />
    </Card>
  );
}

function Metadata({ place, object }: Props) {
  const { metadata } = object;
  const owners = ownersOf(object);
  const finalizers = textsIn(metadata.finalizers);
  return (
    <Card title="Metadata">
      <div class="stack-tight">
        <h3>Labels</h3>
        <Chips entries={entriesOf(metadata.labels)} />
        <h3>Annotations</h3>
        <Chips entries={entriesOf(metadata.annotations)} />
        {owners.length === 0 ? null : <h3>Owners</h3>}
        {owners.map(({ apiVersion, kind, name, uid }) => {
          const found = kindOfObject(apiVersion, kind);
          const namespace = found?.isNamespaced === true ? place.namespace : '';
          return (
            <p key={uid}>
              {kind} {found === undefined ? name : <a href={objectHref(keyOf(found), namespace, name)}>{name}</a>}
            </p>
          );
        })}
        {finalizers.length === 0 ? null : <h3>Finalizers</h3>}
        {finalizers.map((each) => (
          <p key={each}>
            <code>{each}</code>
          </p>
        ))}
        <dl class="fields">
          {(['generation', 'resourceVersion', 'uid'] as const).map((key) => (
            <div key={key} class="field">
              <dt>{key}</dt>
              <dd>
                <code>{typeof metadata[key] === 'number' ? metadata[key] : textOf(metadata[key])}</code>
              </dd>
            </div>
          ))}
        </dl>
      </div>
    </Card>
  );
}

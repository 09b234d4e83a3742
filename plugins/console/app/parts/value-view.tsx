import { useState } from 'preact/hooks';
import { isArray, isObject } from '../base/json.ts';
import type { Json } from '../base/json.ts';
import { formatCount, shortText } from '../base/shown-text.ts';
import { Age, Text } from './basics.tsx';

/** The number of fields that are shown before a person asks for more. */
const shownFields = 50;

/** Shows a value as nested fields, for reading only. */
export function ValueView({ value, depth = 0 }: { readonly value: Json | undefined; readonly depth?: number }) {
  if (isArray(value) && value.every((each) => typeof each !== 'object' || each === null))
    return value.length === 0 ? <span class="muted">none</span> : <Scalars items={value} />;
  if (isArray(value)) return <Fields entries={value.map((each, index) => [String(index + 1), each])} depth={depth} />;
  if (isObject(value)) {
    const entries = Object.entries(value);
    return entries.length === 0 ? <span class="muted">{'{}'}</span> : <Fields entries={entries} depth={depth} />;
  }
  return <Scalar value={value} />;
}

function Scalars({ items }: { readonly items: readonly Json[] }) {
  return (
    <span class="scalars">
      {items.slice(0, shownFields).map((each, index) => (
        <span key={index} class="chip">
          <Scalar value={each} />
        </span>
      ))}
      {items.length > shownFields ? (
        <span class="muted">and {formatCount(items.length - shownFields)} more</span>
      ) : null}
    </span>
  );
}

const dateTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

function Scalar({ value }: { readonly value: Json | undefined }) {
  if (typeof value === 'string' && dateTime.test(value))
    return (
      <span>
        <Age time={value} /> <span class="muted">{value}</span>
      </span>
    );
  if (typeof value === 'string') return value === '' ? <span class="muted">empty text</span> : <Text value={value} />;
  if (value === undefined || value === null) return <span class="muted">null</span>;
  return <code>{JSON.stringify(value)}</code>;
}

interface FieldsProps {
  readonly entries: readonly (readonly [string, Json | undefined])[];
  readonly depth: number;
}

function Fields({ entries, depth }: FieldsProps) {
  const [count, setCount] = useState(shownFields);
  return (
    <dl class={depth === 0 ? 'fields' : 'fields fields-nested'}>
      {entries.slice(0, count).map(([key, value]) => (
        <div key={key} class={isLeaf(value) ? 'field' : 'field field-block'}>
          <dt>
            <bdi>{shortText(key, 80)}</bdi>
          </dt>
          <dd>
            {depth > 12 ? <Text value={JSON.stringify(value) ?? ''} /> : <ValueView value={value} depth={depth + 1} />}
          </dd>
        </div>
      ))}
      {entries.length > count ? (
        <div class="field">
          <dt />
          <dd>
            <button type="button" class="link" onClick={() => setCount(count + 500)}>
              {formatCount(entries.length - count)} more
            </button>
          </dd>
        </div>
      ) : null}
    </dl>
  );
}

function isLeaf(value: Json | undefined): boolean {
  if (isArray(value)) return value.every((each) => typeof each !== 'object' || each === null);
  return !isObject(value) || Object.keys(value).length === 0;
}

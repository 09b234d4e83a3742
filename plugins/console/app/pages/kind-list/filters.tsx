import { useEffect, useState } from 'preact/hooks';
import type { Resource } from '../../api/resources.ts';
import { someValuesOf } from '../../state/indexed-values.ts';
import { indexedFieldsOf } from '../../state/schemas.ts';
import { setQuery } from '../../state/route.ts';
import { formatOrder } from './list-view.ts';
import type { ListView } from './list-view.ts';
import { isShown } from './rows-table.tsx';
import type { Column } from './row-table.ts';

interface Props {
  readonly resource: Resource;
  readonly view: ListView;
  readonly columns: readonly Column[];
}

/** The controls for the filters, the order and the columns of a list. Their values are in the URL. */
export function Filters({ resource, view, columns }: Props) {
  const [fields, setFields] = useState<readonly string[]>([]);
  const [typed, setTyped] = useState(view.fields);
  const suggestions = useSuggestions(resource, fields, typed);
  useEffect(() => {
    let isCurrent = true;
    void indexedFieldsOf(resource).then((found) => isCurrent && setFields(found));
    return () => {
      isCurrent = false;
    };
  }, [resource]);
  return (
    <div class="filters" role="search">
      <Filter name="q" label="Text" value={view.text} hint="in loaded rows" isLive />
      {resource.isNamespaced ? <Filter name="ns" label="Namespace" value={view.namespace} hint="all" /> : null}
      <Filter name="labels" label="Labels" value={view.labels} hint="app=web,tier!=test" />
      <Filter
        name="fields"
        label="Field"
        value={view.fields}
        hint="spec.name=Ada"
        suggestions={suggestions}
        onTyped={setTyped}
      />
      <label class="filter">
        <span>Sort by</span>
        <select
          value={view.order.field}
          onChange={(event) =>
            setQuery({ sort: formatOrder({ field: event.currentTarget.value, isDescending: false }) })
          }
        >
          {[...new Set([...fields, view.order.field])].map((each) => (
            <option key={each} value={each}>
              {each.replace('column:', '')}
            </option>
          ))}
        </select>
      </label>
      <Columns view={view} columns={columns} />
    </div>
  );
}

/**
 * Suggests the names of fields; or, when the last condition of the selector is `<field>=<value>`, values of that field.
 */
function useSuggestions(resource: Resource, fields: readonly string[], typed: string): readonly string[] {
  const [values, setValues] = useState<readonly string[]>([]);
  const [, before = '', field = ''] = /^(.*,)?([^,=]+)=[^,]*$/.exec(typed) ?? [];
  const isKnown = fields.includes(field);
  useEffect(() => {
    let isCurrent = true;
    setValues([]);
    if (isKnown) {
      // The filter also works without suggestions.
      void someValuesOf(resource, field).then(
        (found) => isCurrent && setValues(found),
        () => undefined,
      );
    }
    return () => {
      isCurrent = false;
    };
  }, [resource, field, isKnown]);
  return isKnown ? values.map((value) => `${before}${field}=${value}`) : fields.map((each) => `${each}=`);
}

interface FilterProps {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly hint: string;
  /**
   * True for a filter that is applied at each key press; other filters wait for Enter, or until the field loses the
   * focus.
   */
  readonly isLive?: boolean;
  readonly suggestions?: readonly string[];
  /** Called with the text in the field, whenever it changes. */
  readonly onTyped?: (text: string) => void;
}

const ignored = (): void => undefined;

function Filter({ name, label, value, hint, isLive = false, suggestions = [], onTyped = ignored }: FilterProps) {
  // The text that the user is typing. Without it, a change of an object in the list would reset the field.
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => onTyped(typed), [typed]);
  const apply = (event: { readonly currentTarget: HTMLInputElement }): void => {
    if (event.currentTarget.value !== value) setQuery({ [name]: event.currentTarget.value.trim() });
  };
  const list = `suggestions-${name}`;
  return (
    <label class="filter">
      <span>{label}</span>
      <input
        type="search"
        value={typed}
        placeholder={hint}
        list={suggestions.length === 0 ? undefined : list}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          if (isLive) apply(event);
        }}
        onChange={apply}
        spellcheck={false}
      />
      {suggestions.length === 0 ? null : (
        <datalist id={list}>
          {suggestions.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </label>
  );
}

function Columns({ view, columns }: Pick<Props, 'view' | 'columns'>) {
  const toggle = (column: Column): void => {
    const key = column.priority > 0 ? 'show' : 'hide';
    const names = new Set(column.priority > 0 ? view.shown : view.hidden);
    if (!names.delete(column.name)) names.add(column.name);
    setQuery({ [key]: [...names].join('|') });
  };
  return (
    <details class="menu">
      <summary class="button">Columns</summary>
      <div class="menu-body">
        {columns.map((column) => (
          <label key={column.name} class="check">
            <input type="checkbox" checked={isShown(column, view)} onChange={() => toggle(column)} />
            {column.name}
          </label>
        ))}
      </div>
    </details>
  );
}

import type { Requirement, Selector } from '@homeostat/controller-runtime/api';
import { compareCodePoints, formatKey, keyOf, matchesLabels, matchesValues } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import fc from 'fast-check';
import type { KindCache } from '../kind-cache.ts';
import type { Person } from '../person.fixture.ts';
import { createPerson, createPersonCache, encodeAge, personEntry } from '../person.fixture.ts';
import type { QueryOptions, SortRequest } from './query.ts';
import { compileQuery } from './query.ts';
import { select } from './select.ts';

// The reference implementation filters all objects, sorts them, and cuts out the page. It uses no index.
const fields: Readonly<Record<string, (person: Person) => readonly string[]>> = {
  'metadata.name': ({ metadata }) => [metadata.name],
  'metadata.namespace': ({ metadata }) => (metadata.namespace === undefined ? [] : [metadata.namespace]),
  'metadata.creationTimestamp': ({ metadata }) => [metadata.creationTimestamp],
  'metadata.deletionTimestamp': ({ metadata }) =>
    metadata.deletionTimestamp === undefined ? [] : [metadata.deletionTimestamp],
  'metadata.labels': ({ metadata }) => Object.entries(metadata.labels ?? {}).map(([key, value]) => `${key}=${value}`),
  'spec.name': ({ spec }) => (spec.name === undefined ? [] : [spec.name]),
  'spec.age': ({ spec }) => (spec.age === undefined ? [] : [encodeAge(spec.age)]),
  'spec.tags': ({ spec }) => spec.tags ?? [],
  'spec.team': ({ spec }) => (spec.team === undefined ? [] : [spec.team]),
};

function valuesOf(person: Person, field: string): readonly string[] {
  return (fields[field]?.(person) ?? []).toSorted(compareCodePoints);
}

function isSelected(person: Person, options: QueryOptions): boolean {
  const { namespace, labelSelector = [], fieldSelector = [] } = options;
  if (namespace !== undefined && person.metadata.namespace !== namespace) return false;
  if (!matchesLabels(labelSelector, person.metadata.labels)) return false;
  return fieldSelector.every((requirement) => {
    const values =
      requirement.key === 'spec.age' ? requirement.values.map((age) => encodeAge(Number(age))) : requirement.values;
    return matchesValues({ ...requirement, values }, valuesOf(person, requirement.key));
  });
}

function compareBy(sort: readonly SortRequest[], a: Person, b: Person): number {
  for (const { field, direction } of sort) {
    const isDescending = direction === 'desc' || (direction === undefined && field === 'spec.team');
    const [valueOfA, valueOfB] = [a, b].map((person) => valuesOf(person, field).at(isDescending ? -1 : 0));
    if (valueOfA === valueOfB) continue;
    if (valueOfA === undefined || valueOfB === undefined) return valueOfA === undefined ? 1 : -1;
    return compareCodePoints(valueOfA, valueOfB) * (isDescending ? -1 : 1);
  }
  const byName = compareCodePoints(a.metadata.name, b.metadata.name);
  return byName === 0 ? compareCodePoints(a.metadata.namespace ?? '', b.metadata.namespace ?? '') : byName;
}

function reference(persons: Iterable<Person>, options: QueryOptions): string[] {
  const sort = options.sort?.length
    ? options.sort
    : [{ field: 'metadata.creationTimestamp', direction: 'desc' } as const];
  const selected = [...persons].filter((person) => isSelected(person, options));
  return selected.sort((a, b) => compareBy(sort, a, b)).map((person) => formatKey(keyOf(person)));
}

const texts = ['', 'a', 'b', 'ab', '\uFF5E', '\u{1F600}', 'é'];
const text = fc.constantFrom(...texts);
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined, freq: 3 });
const labelKeys = ['app', 'app.x', 'tier'];

function personNamed(names: fc.Arbitrary<string>): fc.Arbitrary<Person> {
  const parts = fc.record({
    name: names,
    namespace: fc.constantFrom('n1', 'n2'),
    second: fc.integer({ min: 0, max: 5 }),
    isDeleting: fc.integer({ min: 0, max: 9 }),
    labels: fc.dictionary(fc.constantFrom(...labelKeys), fc.constantFrom('', 'a', '1', '7', '10'), { maxKeys: 3 }),
    fullName: optional(text),
    age: optional(fc.integer({ min: 0, max: 20 })),
    tags: optional(fc.array(text, { maxLength: 3 })),
    team: optional(fc.constantFrom('red', 'green')),
  });
  return parts.map(({ name, namespace, second, isDeleting, labels, fullName, age, tags, team }) =>
    createPerson(
      {
        name,
        namespace,
        labels,
        creationTimestamp: `2024-01-01T00:00:0${second}Z`,
        ...(isDeleting === 0 ? { deletionTimestamp: '2024-01-02T00:00:00Z' } : {}),
      },
      {
        ...(fullName === undefined ? {} : { name: fullName }),
        ...(age === undefined ? {} : { age }),
        ...(tags === undefined ? {} : { tags: [...new Set(tags)] }),
        ...(team === undefined ? {} : { team }),
      },
    ),
  );
}

function requirements(
  key: fc.Arbitrary<string>,
  operators: readonly Requirement['operator'][],
): fc.Arbitrary<Selector> {
  const literalsOf = (field: string): readonly string[] => {
    if (labelKeys.includes(field)) return ['', 'a', '1', '7'];
    if (field === 'spec.age') return ['3', '7', '12'];
    if (field === 'spec.team') return ['red', 'green', 'blue'];
    if (field === 'metadata.name') return ['p1', 'p22', 'p333'];
    return ['n1', 'app=a', '2024-01-01T00:00:03Z', ...texts];
  };
  const one = fc.tuple(key, fc.constantFrom(...operators)).chain(([field, operator]) => {
    const counts = { in: [1, 3], notin: [1, 3], exists: [0, 0], absent: [0, 0], gt: [1, 1], lt: [1, 1] } as const;
    const [minLength, maxLength] = counts[operator];
    const literals = operator === 'gt' || operator === 'lt' ? ['3', '8'] : literalsOf(field);
    return fc
      .uniqueArray(fc.constantFrom(...literals), { minLength, maxLength })
      .map((values) => ({ key: field, operator, values }));
  });
  return fc.array(one, { maxLength: 2 });
}

const field = fc.constantFrom(...Object.keys(fields));
const anyQuery: fc.Arbitrary<QueryOptions> = fc
  .record({
    labelSelector: requirements(fc.constantFrom(...labelKeys), ['in', 'notin', 'exists', 'absent', 'gt', 'lt']),
    fieldSelector: requirements(field, ['in', 'notin', 'exists', 'absent']),
    namespace: fc.option(fc.constantFrom('n1', 'n2', 'n3'), { nil: undefined, freq: 1 }),
    sort: fc.array(
      fc
        .tuple(field, fc.constantFrom('asc', 'desc', undefined))
        .map(([name, direction]) => ({ field: name, ...(direction && { direction }) })),
      { maxLength: 2 },
    ),
  })
  .map(({ namespace, ...rest }) => ({ ...rest, ...(namespace === undefined ? {} : { namespace }) }));

function expectSame(cache: KindCache, persons: Iterable<Person>, options: QueryOptions): void {
  const expected = reference(persons, options);
  const query = compileQuery(cache, options);
  const pages = [
    [0, undefined],
    [0, 0],
    [0, 3],
    [2, 4],
    [expected.length - 2, 5],
    [expected.length >> 1, 7],
    [expected.length + 9, 5],
  ] as const;
  for (const [start, count] of pages) {
    const offset = Math.max(0, start);
    const { entries, total } = select(cache, query, { offset, ...(count === undefined ? {} : { count }) });
    expect(entries.map((entry) => entry.key)).to.deep.equal(
      expected.slice(offset, count === undefined ? undefined : offset + count),
    );
    expect(total).to.equal(expected.length);
    for (const entry of entries) expect(entry).to.equal(cache.get(entry.key));
  }
}

describe('select, compared with filtering and sorting all objects [spec 1-own-indexes]', () => {
  for (const [numRuns, tier] of [
    [200, ''],
    [1000, ' [slow]'],
  ] as const)
    it(`returns the same objects after any puts and removes${tier}`, () => {
      const name = fc.integer({ min: 0, max: 11 }).map((n) => `p${n}`);
      const step = fc.oneof(
        { weight: 5, arbitrary: personNamed(name).map((person) => ({ person })) },
        {
          weight: 2,
          arbitrary: fc
            .tuple(fc.constantFrom('n1', 'n2'), name)
            .map(([namespace, n]) => ({ gone: `${namespace}/${n}` })),
        },
        { weight: 3, arbitrary: anyQuery.map((options) => ({ options })) },
      );
      const run = (steps: readonly ({ person: Person } | { gone: string } | { options: QueryOptions })[]): void => {
        const cache = createPersonCache('Namespaced');
        const persons = new Map<string, Person>();
        for (const action of steps) {
          if ('options' in action) {
            expectSame(cache, persons.values(), action.options);
          } else if ('gone' in action) {
            expect(cache.remove(action.gone) !== undefined).to.equal(persons.delete(action.gone));
          } else {
            persons.set(formatKey(keyOf(action.person)), action.person);
            cache.put(personEntry(cache, action.person));
          }
        }
        expect(cache.size).to.equal(persons.size);
      };
      fc.assert(fc.property(fc.array(step, { maxLength: 60 }), run), { numRuns });
    });

  for (const [numRuns, tier] of [
    [15, ''],
    [500, ' [slow]'],
  ] as const) {
    it(`returns the same objects for a kind so large that select walks through it in order and does not collect candidates${tier} [slow]`, () => {
      const name = fc.integer({ min: 0, max: 1_000_000 }).map((n) => `p${n}`);
      const persons = new Map(
        fc.sample(personNamed(name), { numRuns: 1800, seed: 11 }).map((person) => [formatKey(keyOf(person)), person]),
      );
      const cache = createPersonCache('Namespaced');
      cache.load([...persons.values()].map((person) => personEntry(cache, person)));
      fc.assert(
        fc.property(anyQuery, (options) => expectSame(cache, persons.values(), options)),
        { numRuns },
      );
    });
  }
});

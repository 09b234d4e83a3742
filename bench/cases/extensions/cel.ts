// Measures rules in CEL: the time of one rule, the processor time of a create of a kind with ten rules, and the longest
// turn of the event loop with a hostile rule.
import { join } from 'node:path';
import { HostileProcess } from '@homeostat/test';
import { besideOther } from '../../load/beside.ts';
import type { CaseContext } from '../../measure/case.ts';
import { Child } from '../../processes/child.ts';
import type { Figures } from '../../measure/figures.ts';
import { formatRequest, loadHttp } from '../../load/http-load.ts';
import type { Row } from '../../measure/result-table.ts';
import { alternate } from '../../measure/rounds.ts';
import { StallMeter } from '../../measure/stall-meter.ts';

const group = 'rules.example.com';
const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const pathOf = (kind: string): string => `/apis/${group}/v1/${kind.toLowerCase()}s`;

/** The maximum time of a typical rule, in microseconds. */
const maxRuleUs = 10;

/**
 * The number of rules of a kind that is compared with a kind without rules. The difference, divided by this number, is
 * the time of one rule.
 */
const manyRules = 100;

/** The run fails if a definition takes longer than this to be served. */
const servedWithinMs = 30_000;

/** Returns a CEL rule with two comparisons, and a third one that is evaluated for each of the ten items of a list. */
function typicalRule(number: number): object {
  const most = (number + 10).toString();
  return { rule: `self.least <= self.size && self.name != "" && self.items.all(item, item.size < ${most})` };
}

interface Kind {
  readonly kind: string;
  readonly rules: readonly object[];
  readonly maxItems?: number;
}

function definition({ kind, rules, maxItems = 10 }: Kind): object {
  const integer = { type: 'integer' };
  const items = {
    type: 'array',
    maxItems,
    items: { type: 'object', properties: { size: integer, pad: { type: 'string', maxLength: 1650 } } },
  };
  const spec = {
    type: 'object',
    properties: { least: integer, size: integer, name: { type: 'string', maxLength: 63 }, items },
    ...(rules.length === 0 ? {} : { 'x-kubernetes-validations': rules }),
  };
  const plural = `${kind.toLowerCase()}s`;
  const version = {
    name: 'v1',
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
  };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: 'Cluster', names: { plural, kind }, versions: [version] },
  };
}

function objectOf(kind: string, name: string, { items, pad = '' }: { items: number; pad?: string }): string {
  const spec = {
    least: 1,
    size: 3,
    name: 'typical',
    items: Array.from({ length: items }, (_, index) => ({ size: index % 10, ...(pad === '' ? {} : { pad }) })),
  };
  return JSON.stringify({ apiVersion: `${group}/v1`, kind, metadata: { name }, spec });
}

export async function cel({ settings, folder }: CaseContext): Promise<readonly Row[]> {
  const rows = await compareCreations(folder, settings);
  return [...rows, ...(await measureStalls())];
}

async function compareCreations(folder: string, settings: CaseContext['settings']): Promise<readonly Row[]> {
  const { rounds, seconds } = settings;
  await using server = new Child('api-server');
  const url = await server.call<string>('start', `sqlite:${join(folder, 'cel.db')}`);
  const rulesOf = (count: number): readonly object[] => Array.from({ length: count }, (_, index) => typicalRule(index));
  for (const [kind, count] of [
    ['Plain', 0],
    ['Ruled', 10],
    ['Strict', manyRules],
  ] as const)
    await serve(url, { kind, rules: rulesOf(count) });
  let number = 0;
  const creationOf = (kind: string) => (): string => {
    number += 1;
    return formatRequest('POST', pathOf(kind), objectOf(kind, `o-${number.toString()}`, { items: 10 }));
  };
  const [ours, limit] = [
    { child: server, url, request: creationOf('Ruled') },
    { child: server, url, request: creationOf('Plain') },
  ];
  const ten = await besideOther('cel: http-create, ten rules', { ours, limit, least: 0.85 }, settings);
  const load = (kind: string) => (): Promise<Figures> =>
    loadHttp({ url, connections: 1, seconds, request: creationOf(kind) });
  const many = await alternate(rounds, { ours: load('Strict'), limit: load('Plain') });
  const meanUs = ({ opsPerSecond }: Figures): number => 1_000_000 / opsPerSecond;
  const ruleUs = (meanUs(many.ours) - meanUs(many.limit)) / manyRules;
  return [
    ten,
    {
      name: 'cel: time per rule, with a hundred rules',
      ...many,
      target: { text: `${ruleUs.toFixed(1)} µs <= ${maxRuleUs.toString()} µs`, isMet: ruleUs <= maxRuleUs },
    },
  ];
}

async function serve(url: string, kind: Kind): Promise<void> {
  const body = JSON.stringify(definition(kind));
  const answer = await fetch(`${url}${definitionsPath}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  if (!answer.ok) throw new Error(await answer.text());
  await until(async () => (await fetch(`${url}${pathOf(kind.kind)}`)).ok, kind.kind);
}

async function until(isServed: () => Promise<boolean>, kind: string): Promise<void> {
  const untilMs = performance.now() + servedWithinMs;
  while (!(await isServed())) {
    if (performance.now() > untilMs) throw new Error(`${kind} is not served`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Expensive rules that pass the estimate of their costs. An evaluation ends when its cost exceeds the limit. */
const hostileRules: readonly (readonly [name: string, rule: string])[] = [
  ['each item compared with each item', 'self.items.all(a, self.items.all(b, a.size + b.size >= 0))'],
  ['a new list for each item', 'self.items.all(a, self.items.map(b, b.size).size() > 0)'],
  ['ignored errors', 'self.items.all(a, self.items.all(b, a.size / 0 == 1 || true))'],
  ['a regular expression for each text', 'self.items.all(a, a.pad.matches("(x|xx)*y") || true)'],
];

/** The number of items in the list that the rules go through. With a {@link pad} in each item, the object has 1 MB. */
const hostileItems = 600;
const pad = 'x'.repeat(1650);

async function measureStalls(): Promise<readonly Row[]> {
  const server = await HostileProcess.start();
  const meter = new StallMeter(server);
  try {
    await meter.measureIdle();
    for (const [index, [name, rule]] of hostileRules.entries()) {
      const kind = `Hostile${index.toString()}`;
      const body = JSON.stringify(definition({ kind, rules: [{ rule }], maxItems: hostileItems }));
      await server.send({ method: 'POST', path: definitionsPath, body });
      await until(async () => (await server.send({ method: 'GET', path: pathOf(kind) })).status === 200, kind);
      await meter.measure(`1 MB, ${name}`, async (attempt) =>
        server.send({
          method: 'POST',
          path: pathOf(kind),
          body: objectOf(kind, `o-${attempt.toString()}`, { items: hostileItems, pad }),
        }),
      );
    }
  } finally {
    await server.stop();
  }
  return meter.rows;
}

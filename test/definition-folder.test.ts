import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { HostileProcess } from './hostile/hostile-process.ts';
import { machineSlowness } from './hostile/machine-slowness.ts';
import { lineOf, reportDefinitions } from './definitions/definition-folder.ts';
import type { DefinitionReport } from './definitions/definition-folder.ts';
import { largeDefinition } from './support/definitions/large-definition.ts';
import { readDocuments } from './definitions/read-documents.ts';

/** The maximum time for which a definition may block the event loop. */
const maxStallMs = 50;

/** A folder with CustomResourceDefinitions of other projects; undefined without the environment variable. */
const given = process.env['HOMEOSTAT_TEST_CRDS'];

async function reportsOf(folder: string): Promise<readonly DefinitionReport[]> {
  const server = await HostileProcess.start();
  try {
    const reports: DefinitionReport[] = [];
    for await (const report of reportDefinitions(server, readDocuments(folder).objects)) reports.push(report);
    expect(await server.call('problems')).to.deep.equal([]);
    return reports;
  } finally {
    await server.stop();
  }
}

function expectServed(report: DefinitionReport): void {
  const line = lineOf(report);
  expect(report.refusal, line).to.equal(undefined);
  expect(report.establishedMs, line).to.be.a('number');
  expect(report.refusesWrong, line).not.to.equal(false);
  expect(report.longestStallMs, line).to.be.at.most(maxStallMs * machineSlowness());
}

describe('a folder of definitions [slow]', () => {
  it('test/crds: each kind is served, accepts the objects in the folder and a sample, and refuses a wrong spec [spec operators-definitions]', async () => {
    const reports = await reportsOf(fileURLToPath(new URL('../crds', import.meta.url)));
    expect(reports.length).to.be.at.least(4);
    for (const report of reports) {
      expectServed(report);
      expect([report.accepted > 0, report.refused], lineOf(report)).to.deep.equal([true, []]);
    }
  });

  it('yields a report for each definition: thirty in a file, one of 1.2 MB, a refused one, and one with a YAML merge key', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'homeostat-crds-'));
    try {
      const kinds = Array.from({ length: 30 }, (_, at) => kindOf(`Part${at}`));
      await writeFile(join(folder, 'a.yaml'), kinds.map((each) => JSON.stringify(each)).join('\n---\n'));
      await writeFile(join(folder, 'b.json'), JSON.stringify(largeDefinition(10_505, 72)));
      await writeFile(
        join(folder, 'c.yaml'),
        JSON.stringify(kindOf('Wrong', { type: 'object', properties: { spec: {} } })),
      );
      await writeFile(join(folder, 'd.yaml'), withMergeKey);
      const reports = await reportsOf(folder);
      expect(reports).to.have.length(33);
      for (const report of reports.slice(0, 31)) expectServed(report);
      expect(lineOf(reports[31] as DefinitionReport)).to.match(/wrongs\.parts\.example\.com: refused: .*spec.*type/);
      expectServed(reports[32] as DefinitionReport);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('yields a report for each definition in a List; the message about invalid YAML has the path and line of the mistake', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'homeostat-crds-'));
    try {
      const object = {
        apiVersion: 'parts.example.com/v1',
        kind: 'Listed',
        metadata: { name: 'a', finalizers: ['x/y'] },
      };
      const items = [kindOf('Listed'), ...[1, 2, 0].map((size) => ({ ...object, spec: { size } })), withOldStorage];
      await writeFile(join(folder, 'a.yaml'), JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
      await writeFile(join(folder, 'b.yaml'), 'kind: List\nitems: [\n}\n');
      const { objects, problems } = readDocuments(folder);
      expect([objects.length, problems]).to.deep.equal([5, [`${join(folder, 'b.yaml')}:3: deficient indentation`]]);
      const [listed, old] = await reportsOf(folder);
      expectServed(listed as DefinitionReport);
      expect(listed?.refused).to.have.length(1);
      expect([listed?.accepted, listed?.refused[0]]).to.deep.equal([
        3,
        listed?.refused.find((each) => each.includes('spec.size')),
      ]);
      expectServed(old as DefinitionReport);
      expect([old?.accepted, old?.refused]).to.deep.equal([1, []]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('is parsed as by kubectl: an integer with a leading 0 is octal [spec operators-definitions]', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'homeostat-crds-'));
    try {
      await writeFile(
        join(folder, 'a.yaml'),
        'mode: 0755\nbelow: -010\nplain: 755\nmarked: 0o17\nzero: 0\ntext: "0755"\n',
      );
      expect(readDocuments(folder).objects).to.deep.equal([
        { mode: 493, below: -8, plain: 755, marked: 15, zero: 0, text: '0755' },
      ]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  if (given !== undefined) {
    it(`${given} (HOMEOSTAT_TEST_CRDS): each definition becomes Established`, async () => {
      for (const report of await reportsOf(given)) {
        console.log(lineOf(report));
        expectServed(report);
      }
    });
  }
});

/**
 * A long definition, whose storage version is not served. {@link reportDefinitions} does not parse so long a response,
 * so it cannot find the condition Established. Instead, it waits until the kind can be listed in a served
 * version.
 */
const withOldStorage = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'olds.parts.example.com' },
  spec: {
    group: 'parts.example.com',
    scope: 'Namespaced',
    names: { plural: 'olds', kind: 'Old' },
    versions: ['v1alpha1', 'v1beta1'].map((name, at) => ({
      name,
      served: at === 1,
      storage: at === 0,
      schema: { openAPIV3Schema: { type: 'object', description: 'long '.repeat(15_000) } },
    })),
  },
};

/** A definition whose version v2 repeats v1 by the YAML merge key `<<`, and overrides two fields. */
const withMergeKey = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: merges.parts.example.com }
spec:
  group: parts.example.com
  scope: Namespaced
  names: { plural: merges, kind: Merge }
  versions:
    - &v1
      name: v1
      served: true
      storage: true
      schema: { openAPIV3Schema: { type: object, properties: { spec: { type: object } } } }
    - <<: *v1
      name: v2
      storage: false
`;

function kindOf(kind: string, openAPIV3Schema?: object): object {
  const plural = `${kind.toLowerCase()}s`;
  const spec = { type: 'object', required: ['size'], properties: { size: { type: 'integer', minimum: 1 } } };
  const schema = { openAPIV3Schema: openAPIV3Schema ?? { type: 'object', required: ['spec'], properties: { spec } } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.parts.example.com` },
    spec: {
      group: 'parts.example.com',
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  };
}

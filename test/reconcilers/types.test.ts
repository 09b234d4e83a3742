import { expect } from 'chai';
import { fileURLToPath } from 'node:url';
import { controller, defineModel, wish } from 'homeostat';
import type { Client, FromModel } from 'homeostat';
import ts from 'typescript';
import { Note, Team, Worker } from './models.ts';

// The compiler runs these tests: a type that is not exactly the expected one does not compile.
type Equal<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;

function isExactly<A, B>(answer: Equal<A, B>): boolean {
  return answer;
}

export const Desk = defineModel({
  gvk: 'work.example.com/v1/Desk',
  plural: 'desks',
  scope: 'Namespaced',
  schema: {
    type: 'object',
    required: ['spec'],
    properties: { spec: { type: 'object', required: ['height'], properties: { height: { type: 'integer' } } } },
  },
});

/** A function that is never called. The test reads the types of its variables as an editor shows them. */
export async function shown(client: Client): Promise<unknown> {
  const team = await client.get(Team, 'red');
  const desk = await client.get(Desk, 'red', { namespace: 'default' });
  return [team, desk];
}

/** Returns the text that an editor shows for a variable of this file. */
function hoverOf(name: string): string {
  const file = fileURLToPath(new URL('../../reconcilers/types.test.ts', import.meta.url));
  const host: ts.LanguageServiceHost = {
    getCompilationSettings: () => ({
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2022,
      strict: true,
      exactOptionalPropertyTypes: true,
      allowImportingTsExtensions: true,
      noEmit: true,
      types: [],
    }),
    getScriptFileNames: () => [file],
    getScriptVersion: () => '1',
    getScriptSnapshot: (path) => {
      const text = ts.sys.readFile(path);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => process.cwd(),
    getDefaultLibFileName: (options) => ts.getDefaultLibFilePath(options),
    fileExists: (path) => ts.sys.fileExists(path),
    readFile: (path) => ts.sys.readFile(path),
  };
  const service = ts.createLanguageService(host);
  const at = ts.sys.readFile(file)?.indexOf(`const ${name} = `) ?? -1;
  const { displayParts = [] } = service.getQuickInfoAtPosition(file, at + 'const '.length) ?? {};
  service.dispose();
  return displayParts.map(({ text }) => text).join('');
}

describe('the types of reconcilers', () => {
  it('let editors show the fields of an object, instead of the names of helper types [slow]', () => {
    const fields = ['readonly apiVersion: string;', 'readonly kind: string;'];
    for (const [name, metadata] of [
      ['team', 'ObjectMeta'],
      ['desk', 'NamespacedObjectMeta'],
    ] as const) {
      const hover = hoverOf(name);
      const lines = hover.split('\n').map((line) => line.trim());
      expect(lines, hover).to.include.members([...fields, `readonly metadata: ${metadata};`, 'readonly spec: {']);
      expect(hover).not.to.match(/ObjectOf|FromSchema|Flat|properties/);
    }
  });

  it('give the exact type of the objects of a model, by FromModel', () => {
    expect(isExactly<FromModel<typeof Desk>['spec'], { readonly height: number }>(true)).to.equal(true);
    expect(isExactly<FromModel<typeof Desk>['metadata']['namespace'], string>(true)).to.equal(true);
    expect(isExactly<FromModel<typeof Team>['metadata']['namespace'], string | undefined>(true)).to.equal(true);
  });

  it('allow null, which removes a field, for optional fields in status and ensure, but not for required fields', () => {
    const definition = controller(Team, {
      owns: [Worker, Note],
      async reconcile({ status, ensure }) {
        await status({ members: null });
        // @ts-expect-error -- members is a number or null
        await status({ members: 'many' });
        // @ts-expect-error -- the status has no field member
        await status({ member: null });
        await ensure(Note, 'red', { spec: { text: null }, metadata: { labels: { 'example.com/a': null } } });
        // @ts-expect-error -- the schema requires spec.task
        await ensure(Worker, 'red', { spec: { task: null } });
      },
    });
    expect(definition.name).to.equal('team');
  });

  it('refuse null in a wish, because leaving out a field removes it', () => {
    // @ts-expect-error -- a wish cannot have null as the value of a field
    const wished = wish(Note, { metadata: { name: 'red' }, spec: { text: null } });
    expect(wished.id).to.equal('Note/red');
  });
});

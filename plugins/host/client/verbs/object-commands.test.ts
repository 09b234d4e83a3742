import { defineModel } from '@homeostat/controller-runtime/api';
import { eventually } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../commands/run-command.fixture.ts';
import type { Finished } from '../../commands/run-command.fixture.ts';
import { startTestServer } from '../../testing/index.ts';
import type { TestServer } from '../../testing/index.ts';

const script = fileURLToPath(new URL('../../../bin/homeostat.js', import.meta.url));

const Book = defineModel({
  gvk: 'library.example.com/v1/Book',
  plural: 'books',
  shortNames: ['bk'],
  scope: 'Namespaced',
  indexes: ['spec.pages'],
  printerColumns: [{ name: 'Pages', type: 'integer', jsonPath: '.spec.pages' }],
  schema: {
    type: 'object',
    description: 'A book of the library.',
    required: ['spec'],
    properties: {
      spec: {
        type: 'object',
        description: 'What the book is.',
        required: ['title'],
        properties: {
          title: { type: 'string', description: 'As on the cover.' },
          pages: { type: 'integer', minimum: 1 },
          authors: { type: 'array', items: { type: 'string' } },
        },
      },
      status: {
        type: 'object',
        properties: {
          conditions: {
            type: 'array',
            items: {
              type: 'object',
              properties: {
                type: { type: 'string' },
                status: { type: 'string' },
                observedGeneration: { type: 'integer' },
              },
            },
          },
        },
      },
    },
  },
});

const books = `
apiVersion: library.example.com/v1
kind: Book
metadata: { name: emma, labels: { shelf: a } }
spec: { title: Emma, pages: 474, authors: [Jane Austen] }
---
apiVersion: library.example.com/v1
kind: Book
metadata: { name: ulysses, labels: { shelf: b } }
spec: { title: Ulysses, pages: 730 }
`;

interface Started {
  readonly child: ChildProcessWithoutNullStreams;
  /** The text that the command has printed so far to stdout and stderr. */
  text: string;
  /** Resolves with the exit code. */
  readonly ended: Promise<number>;
}

describe('Commands for objects [spec experience-commands]', () => {
  let server: TestServer;
  let folder: string;

  before(async () => {
    server = await startTestServer({ models: [Book] });
    folder = await mkdtemp(join(tmpdir(), 'homeostat-objects-'));
  });
  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    await succeed('apply', '-f', await file('books.yaml', books));
  });
  afterEach(async () => {
    await run('delete', 'books', '--all');
  });

  async function file(name: string, text: string): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, text);
    return path;
  }

  function run(...args: readonly string[]): Promise<Finished> {
    return runCommand([...args, '--server', server.url]);
  }

  /** Starts a command in a process of its own, so that other commands can run meanwhile. */
  function start(...args: readonly string[]): Started {
    const child = spawn(process.execPath, [...process.execArgv, script, ...args, '--server', server.url]);
    const started: Started = { child, text: '', ended: once(child, 'close').then(([code]) => Number(code)) };
    child.stdout.on('data', (piece) => (started.text += String(piece)));
    child.stderr.on('data', (piece) => (started.text += String(piece)));
    return started;
  }

  /** Resolves with the command's output on stdout. */
  async function succeed(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await run(...args);
    expect(`${code} ${stderr}`, args.join(' ')).to.equal('0 ');
    return stdout;
  }

  async function expectFailure(args: readonly string[], code: number, message: string): Promise<void> {
    const finished = await run(...args);
    expect(finished.code, args.join(' ')).to.equal(code);
    expect(finished.stderr).to.include(message);
  }

  it('impersonates the user of --as with each --as-group as one group, even if the group contains a comma [slow]', async () => {
    const refused = await run('get', 'books', '--as', 'ada', '--as-group', 'system:masters, x');
    expect(refused.code).to.equal(1);
    expect(refused.stderr).to.include('(Forbidden)').and.include('"ada"');
    const groups = ['--as-group', 'readers', '--as-group', 'system:masters'];
    expect((await run('get', 'books', '-o', 'name', '--as', 'ada', ...groups)).stdout).to.include('/emma');
    const applied = await run('apply', '-f', await file('as.yaml', books), '--as', 'ada', ...groups);
    expect(applied).to.include({ code: 0, stderr: '' });
    const alone = await run('get', 'books', ...groups);
    expect(alone).to.include({ code: 2, stderr: 'error: --as-group: name the user, too: --as <user>\n' });
  });

  describe('get', () => {
    it('prints the columns of the kind, and accepts each name of the kind [spec experience-output]', async () => {
      const lines = (await succeed('get', 'books', '--sort', 'metadata.name,asc')).split('\n');
      expect(lines[0]).to.match(/^NAME {6}PAGES$/);
      expect(lines[1]).to.match(/^emma {6}474$/);
      for (const name of ['book', 'Book', 'bk', 'books.library.example.com', 'books.v1.library.example.com'])
        expect(await succeed('get', name, '-o', 'name'), name).to.include('book.library.example.com/emma\n');
    });

    it('prints the objects that the arguments name, of one kind or of several kinds', async () => {
      expect(await succeed('get', 'book/emma', 'ns/default')).to.match(
        /book\.library\.example\.com\/emma +474\n[^]*namespace\/default/,
      );
      expect(await succeed('get', 'book', 'emma', 'ulysses', '--no-headers')).to.equal(
        'emma      474\nulysses   730\n',
      );
    });

    it('selects by labels and by indexed fields, and sorts [spec experience-selection]', async () => {
      expect(await succeed('get', 'books', '-l', 'shelf=b', '-o', 'name')).to.equal(
        'book.library.example.com/ulysses\n',
      );
      expect(await succeed('get', 'books', '--field-selector', 'spec.pages=474', '-o', 'name')).to.include('/emma');
      const names = await succeed(
        'get',
        'books',
        '--sort',
        'spec.pages,desc',
        '-o',
        'jsonpath={.items[*].metadata.name}',
      );
      expect(names).to.equal('ulysses emma');
    });

    it('prints JSON, YAML and custom columns [spec experience-output]', async () => {
      const one: unknown = JSON.parse(await succeed('get', 'book', 'emma', '-o', 'json'));
      expect(one).to.have.nested.property('spec.title', 'Emma');
      expect(one).not.to.have.nested.property('metadata.managedFields');
      const list: unknown = JSON.parse(await succeed('get', 'books', '-o', 'json'));
      expect(list).to.have.property('items').with.length(2);
      expect(await succeed('get', 'books', '-l', 'shelf=a', '-o', 'yaml')).to.match(
        /^apiVersion: v1\nitems:\n- apiVersion: library/,
      );
      expect(
        await succeed('get', 'book', 'emma', '-o', 'custom-columns=N:.metadata.name,A:.spec.authors[*],X:.spec.none'),
      ).to.equal('N      A             X\nemma   Jane Austen   <none>\n');
      expect(await succeed('get', 'book', 'emma', '-o', 'json', '--show-managed-fields')).to.include('managedFields');
    });

    it('prints the objects of all pages of a list', async () => {
      await succeed(
        'create',
        '-f',
        await file('ns.json', '{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"many"}}'),
      );
      const make = async (index: number): Promise<unknown> =>
        server.client.create(Book, { metadata: { name: `b-${index}`, namespace: 'many' }, spec: { title: 'Emma' } });
      await Promise.all(Array.from({ length: 510 }, (_, index) => make(index)));
      const names = (await succeed('get', 'books', '-n', 'many', '-o', 'name')).trim().split('\n');
      expect(new Set(names).size).to.equal(510);
      const rows = (await succeed('get', 'books', '-n', 'many', '--no-headers')).trim().split('\n');
      expect(rows).to.have.length(510);
      expect(await succeed('get', 'books', '-A', '--field-selector', 'metadata.name=b-7')).to.match(/^NAMESPACE +NAME/);
    });

    it('exits with 1, and names the object or the kind that does not exist [spec experience-exit-codes]', async () => {
      await expectFailure(
        ['get', 'book', 'nobody'],
        1,
        'Error from server (NotFound): books.library.example.com "nobody" not found\n',
      );
      expect(await succeed('get', 'book', 'nobody', '--ignore-not-found')).to.equal('');
      await expectFailure(['get', 'boks'], 1, `the server doesn't have a resource type "boks"; did you mean "books"?`);
      const none = await run('get', 'books', '-l', 'shelf=z');
      expect(none).to.deep.equal({ code: 0, stdout: '', stderr: 'No resources found in default namespace.\n' });
    });

    it('refuses wrong arguments with the exit code 2 [spec experience-exit-codes]', async () => {
      await expectFailure(['get'], 2, 'you must specify the type of resource');
      await expectFailure(['get', 'books', '-o', 'xml'], 2, '-o: must be table, wide, json');
      await expectFailure(['get', 'books', '-o', 'jsonpath={.items'], 2, 'unclosed action');
      await expectFailure(['get', 'books', '-o', 'custom-columns=NAME'], 2, 'must be NAME:path');
      await expectFailure(['get', 'book/a/b'], 2, 'write TYPE/NAME');
      await expectFailure(['get', 'book', 'emma', '-A'], 2, 'leave out the name or -A');
      await expectFailure(['get', 'books', '--lables', 'a'], 2, "unknown option '--lables'");
      await expectFailure(['get', 'book', 'emma', '-l', 'shelf=b'], 2, '-l: cannot be used together with names');
      await expectFailure(
        ['get', 'book', 'emma', '--field-selector', 'spec.pages=1'],
        2,
        '--field-selector: cannot be used together with names',
      );
    });
  });

  describe('apply', () => {
    it('prints "configured" for a changed object, "unchanged" when the apply is repeated, and keeps the fields of other managers', async () => {
      const more = await file('emma.yaml', books.split('---')[0]?.replace('474', '475') ?? '');
      await succeed(
        'patch',
        'book',
        'emma',
        '-p',
        '{"metadata":{"annotations":{"by":"another"}}}',
        '--field-manager',
        'x',
      );
      expect(await succeed('apply', '-f', more)).to.equal('book.library.example.com/emma configured\n');
      expect(await succeed('apply', '-f', more)).to.equal('book.library.example.com/emma unchanged\n');
      expect(await succeed('get', 'book', 'emma', '-o', 'jsonpath={.spec.pages} {.metadata.annotations.by}')).to.equal(
        '475 another',
      );
    });

    it('shows with --diff what would change, and stores nothing unless the user confirms [spec experience-diff]', async () => {
      const more = await file('emma.yaml', books.split('---')[0]?.replace('474', '475') ?? '');
      const asked = await run('apply', '-f', more, '--diff');
      expect(asked.code).to.equal(2);
      expect(asked.stdout).to.include('-  pages: 474\n+  pages: 475\n').and.not.include('ulysses');
      expect(asked.stderr).to.include('--yes');
      expect(await succeed('get', 'book', 'emma', '-o', 'jsonpath={.spec.pages}')).to.equal('474');
      expect(await succeed('apply', '-f', more, '--diff', '--yes')).to.include('emma configured');
    });

    it('reads files, folders, glob patterns and stdin [spec experience-files]', async () => {
      const shelf = join(folder, 'shelf');
      await mkdir(shelf);
      const [emma = '', ulysses = ''] = books.split('---');
      await file('shelf/a.yaml', emma);
      await file('shelf/b.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [] }));
      await file('shelf/c.yml', ulysses);
      await file('shelf/notes.txt', 'no object');
      const names = async (...args: readonly string[]): Promise<string> => succeed('get', '-o', 'name', ...args);
      const [first, second] = ['book.library.example.com/emma\n', 'book.library.example.com/ulysses\n'];
      expect(await names('-f', shelf)).to.equal(first + second);
      expect(await names('-f', join(shelf, '*.yml'), '-f', join(shelf, 'a.yaml'))).to.equal(second + first);
      const piped = await runCommand(['get', '-f', '-', '-o', 'name', '--server', server.url], {}, ulysses);
      expect(piped).to.deep.equal({ code: 0, stdout: second, stderr: '' });
      await expectFailure(['get', '-f', join(shelf, '*.toml')], 1, `no file matches "${join(shelf, '*.toml')}"`);
      await mkdir(join(shelf, 'none'));
      await expectFailure(['get', '-f', join(shelf, 'none')], 1, 'none has the extension .json, .yaml or .yml');
    });

    it('stores nothing with --dry-run=server, and refuses --dry-run=client [spec experience-dry-run]', async () => {
      const more = await file('more.yaml', books.replaceAll('emma', 'persuasion').split('---')[0] ?? '');
      expect(await succeed('apply', '-f', more, '--dry-run=server')).to.equal(
        'book.library.example.com/persuasion created (server dry run)\n',
      );
      await expectFailure(['get', 'book', 'persuasion'], 1, 'NotFound');
      await expectFailure(['apply', '-f', more, '--dry-run=client'], 2, 'must be server or none');
    });

    it('continues after a refused object, and names the file and the field [spec experience-exit-codes]', async () => {
      const bad = await file('bad.yaml', books.replace('pages: 474', 'pages: 0').replaceAll('ulysses', 'dubliners'));
      const { code, stdout, stderr } = await run('apply', '-f', bad);
      expect(code).to.equal(1);
      expect(stdout).to.equal('book.library.example.com/dubliners created\n');
      expect(stderr).to.include('bad.yaml, document 1').and.include('spec.pages');
    });

    it('applies a definition, and then objects of its kind', async () => {
      const schema = '{ openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }';
      const versions = `[{ name: v1, served: true, storage: true, schema: ${schema} }]`;
      const text = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: pens.desk.example.com }
spec: { group: desk.example.com, scope: Cluster, names: { plural: pens, kind: Pen }, versions: ${versions} }
---
apiVersion: desk.example.com/v1
kind: Pen
metadata: { name: red }
`;
      const path = await file('pens.yaml', text);
      expect(await succeed('apply', '-f', path)).to.equal(
        'customresourcedefinition.apiextensions.k8s.io/pens.desk.example.com created\npen.desk.example.com/red created\n',
      );
      await succeed('delete', 'crd', 'pens.desk.example.com');
    });

    it('changes a field that the patch command has set as the same manager, but not a field of another manager', async () => {
      await succeed('patch', 'book', 'emma', '-p', 'spec: { pages: 500 }');
      expect(await succeed('apply', '-f', join(folder, 'books.yaml'))).to.include('emma configured');
      expect(await succeed('get', 'book', 'emma', '-o', 'jsonpath={.spec.pages}')).to.equal('474');
      await succeed('patch', 'book', 'emma', '-p', 'spec: { pages: 500 }', '--field-manager', 'other');
      const { code, stderr } = await run('apply', '-f', await file('one.yaml', books.split('---')[0] ?? ''));
      expect(code).to.equal(1);
      expect(stderr).to.match(
        /conflict with "other"[^]*\nleave these fields out, or take them over: --force-conflicts\n$/,
      );
      await succeed('apply', '-f', join(folder, 'books.yaml'), '--force-conflicts');
    });

    it('takes over the fields of other managers only with --force-conflicts', async () => {
      await succeed(
        'apply',
        '-f',
        await file('other.yaml', books.replace('474', '1')),
        '--field-manager',
        'other',
        '--force-conflicts',
      );
      await expectFailure(['apply', '-f', await file('books.yaml', books)], 1, 'conflict with "other"');
      expect(await succeed('apply', '-f', await file('books.yaml', books), '--force-conflicts')).to.include(
        'emma configured',
      );
    });

    it('names the malformed file, the path that does not exist, and the field that is missing [spec experience-errors]', async () => {
      await expectFailure(['apply', '-f', await file('broken.yaml', 'a:\n  - b\n c: d\n')], 1, 'broken.yaml: ');
      await expectFailure(['apply', '-f', join(folder, 'none.yaml')], 1, 'does not exist');
      await expectFailure(
        ['apply', '-f', await file('part.yaml', 'kind: Book\nmetadata: {}\n')],
        1,
        'part.yaml: apiVersion must be set',
      );
      await expectFailure(
        ['apply', '-f', await file('kind.yaml', books.replaceAll('Book', 'Boat'))],
        1,
        'no matches for kind "Boat"',
      );
      await expectFailure(['apply'], 2, '-f is needed');
    });
  });

  describe('create, patch, edit and delete', () => {
    it('create refuses an object that exists already, names its file, and continues', async () => {
      await succeed('delete', 'book', 'ulysses');
      const { code, stdout, stderr } = await run('create', '-f', join(folder, 'books.yaml'));
      expect({ code, stdout }).to.deep.equal({ code: 1, stdout: 'book.library.example.com/ulysses created\n' });
      expect(stderr).to.match(/^\S+books\.yaml, document 1: Error from server \(AlreadyExists\): .*emma.*\n$/);
      await expectFailure(
        ['create', '-f', await file('one.yaml', books.split('---')[0] ?? '')],
        1,
        'Error from server (Al',
      );
    });

    it('apply -o prints several objects as YAML documents, or as one table [spec experience-output]', async () => {
      const path = join(folder, 'books.yaml');
      const dry = ['apply', '-f', path, '--dry-run=server', '-o'] as const;
      const yaml = await succeed(...dry, 'yaml');
      expect(yaml.split('\n---\n').map((text) => /^kind: Book$/m.test(text))).to.deep.equal([true, true]);
      expect(await succeed(...dry, 'custom-columns=NAME:.metadata.name,PAGES:.spec.pages')).to.equal(
        'NAME   PAGES\nemma   474\nulysses   730\n',
      );
      await expectFailure([...dry, 'wide'], 2, '-o: must be json, yaml, name, jsonpath=<template>');
    });

    it('accept YAML merge keys, and read integers with a leading 0 as octal numbers, as kubectl does', async () => {
      const metadata = 'metadata: { name: m, labels: &x { a: "1" }, annotations: { <<: *x, b: "2" } }';
      const merged = await file('merge.yaml', `apiVersion: v1\nkind: ConfigMap\n${metadata}\n`);
      expect(await succeed('create', '-f', merged, '--dry-run', '-o', 'jsonpath={.metadata.annotations}')).to.equal(
        '{"a":"1","b":"2"}',
      );
      const mode = await file('mode.yaml', books.split('---')[0]?.replace('474', '0755') ?? '');
      expect(await succeed('apply', '-f', mode, '-o', 'jsonpath={.spec.pages}')).to.equal('493');
      expect(
        await succeed('patch', 'book/emma', '-p', 'spec: { pages: 010 }', '-o', 'jsonpath={.spec.pages}'),
      ).to.equal('8');
    });

    it('patch says whether it changed something', async () => {
      expect(await succeed('patch', 'book/emma', '-p', 'spec: { pages: 500 }')).to.equal(
        'book.library.example.com/emma patched\n',
      );
      expect(await succeed('patch', 'book/emma', '-p', 'spec: { pages: 500 }')).to.include('patched (no change)');
      const json = '[{"op":"replace","path":"/spec/pages","value":501}]';
      expect(
        await succeed('patch', 'book', 'emma', '--type', 'json', '-p', json, '-o', 'jsonpath={.spec.pages}'),
      ).to.equal('501');
      await expectFailure(['patch', 'book', 'emma', '-p', 'x'], 2, 'the patch must be an object or a list');
      await expectFailure(['patch', 'book', 'emma', '-p', '{"spec":'], 2, 'error: -p: ');
      const none = ['patch', 'book', 'emma', '--patch-file', '/nowhere.yaml'];
      await expectFailure(none, 1, 'error: there is no file or folder "/nowhere.yaml"\n');
      await expectFailure(['patch', 'book', 'emma', '-p', 'spec: { pages: 0 }'], 1, 'spec.pages');
    });

    it('edit writes the text that the editor saved, and keeps a refused text in a file', async () => {
      const edit = (change: string): Promise<Finished> =>
        runCommand(['edit', 'book', 'emma', '--server', server.url], { EDITOR: `sed -i '${change}'` });
      expect((await edit('s/pages: 474/pages: 480/')).stdout).to.equal('book.library.example.com/emma edited\n');
      expect((await edit('s/nothing/x/')).stderr).to.equal('Edit cancelled, no changes made.\n');
      const refused = await edit('s/pages: 480/pages: 0/');
      expect(refused.code).to.equal(1);
      const [, kept = ''] = /Your changes are in (\S+);/.exec(refused.stderr) ?? [];
      await rm(join(kept, '..'), { recursive: true });
      expect(await succeed('get', 'book', 'emma', '-o', 'jsonpath={.spec.pages}')).to.equal('480');
    });

    it('delete needs names, a selection or --all', async () => {
      await expectFailure(['delete', 'books'], 2, '--all');
      await expectFailure(
        ['delete', 'book', 'emma', '--all'],
        2,
        '--all: cannot be used together with names; leave out the names or --all',
      );
      const some = await run('delete', 'book', 'nobody', 'noone', '--dry-run');
      expect(some.code).to.equal(1);
      expect(some.stderr.match(/\(NotFound\)/g)).to.have.length(2);
      expect(await succeed('delete', 'books', '-l', 'shelf=a')).to.equal('book.library.example.com "emma" deleted\n');
      await expectFailure(['delete', 'book', 'emma'], 1, 'NotFound');
      expect(await succeed('delete', 'book', 'emma', '--ignore-not-found')).to.equal('');
      expect(await succeed('delete', 'book', 'ulysses', '--dry-run=server')).to.include('deleted (server dry run)');
      expect(await succeed('delete', '-f', await file('b.yaml', books.split('---')[1] ?? ''))).to.include(
        '"ulysses" deleted',
      );
    });

    it('delete waits until the finalizers are removed, but not longer than --timeout [slow]', async () => {
      await succeed('patch', 'book', 'emma', '-p', 'metadata: { finalizers: [example.com/hold] }');
      await expectFailure(
        ['delete', 'book', 'emma', '--timeout', '50ms'],
        1,
        'timed out waiting for the condition on books/emma',
      );
      const gone = start('wait', '--for=delete', 'book/emma');
      await succeed('patch', 'book', 'emma', '-p', 'metadata: { finalizers: null }');
      expect(await gone.ended).to.equal(0);
      expect(gone.text).to.equal('book.library.example.com/emma deleted\n');
    });
  });

  describe('wait', () => {
    it('waits for a condition whose observedGeneration is the generation of the object [slow]', async () => {
      const waiting = start('wait', '--for=condition=Ready', 'book/emma', '--timeout', '20s');
      const ready = (observedGeneration: number): string =>
        JSON.stringify({ status: { conditions: [{ type: 'Ready', status: 'True', observedGeneration }] } });
      await succeed('patch', 'book', 'emma', '-p', 'spec: { pages: 2 }');
      await succeed('patch', 'book', 'emma', '--subresource', 'status', '-p', ready(1));
      await expectFailure(['wait', '--for=condition=Ready', 'book/emma', '--timeout', '50ms'], 1, 'timed out waiting');
      await succeed('patch', 'book', 'emma', '--subresource', 'status', '-p', ready(2));
      expect(await waiting.ended).to.equal(0);
      expect(waiting.text).to.equal('book.library.example.com/emma condition met\n');
    });

    it('checks each object once with --timeout=0', async () => {
      const both = ['book/emma', 'book/ulysses', '--timeout=0'];
      expect(await succeed('wait', '--for=create', ...both)).to.match(/emma condition met\n.*ulysses condition met\n/);
      await expectFailure(['wait', '--for=delete', ...both], 1, 'timed out waiting for the condition on books/emma');
    });

    it('waits for the value of a field, and for the creation of an object [slow]', async () => {
      expect(await succeed('wait', '--for=jsonpath={.spec.pages}=474', 'book/emma')).to.include('condition met');
      const created = start('wait', '--for=create', 'book/persuasion', '--timeout', '20s');
      await succeed(
        'apply',
        '-f',
        await file('more.yaml', books.replaceAll('emma', 'persuasion').split('---')[0] ?? ''),
      );
      expect(await created.ended).to.equal(0);
      await expectFailure(['wait', 'book/emma'], 2, '--for is needed');
      await expectFailure(['wait', '--for=ready', 'book/emma'], 2, '--for: must be');
      await expectFailure(['wait', '--for=delete', 'book/emma', '--timeout', 'soon'], 2, '--timeout: must be a time');
    });
  });

  describe('describe, explain, api-resources and events', () => {
    it('describe prints the fields with readable names, and the events of the object', async () => {
      const event = {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: 'e1', namespace: 'default' },
        involvedObject: {
          kind: 'Book',
          name: 'emma',
          uid: await succeed('get', 'book', 'emma', '-o', 'jsonpath={.metadata.uid}'),
        },
        type: 'Warning',
        reason: 'Late',
        message: 'not returned \u001b[31m',
        source: { component: 'desk' },
        lastTimestamp: new Date().toISOString(),
      };
      await succeed('create', '-f', await file('event.json', JSON.stringify(event)));
      const text = await succeed('describe', 'book', 'emma');
      expect(text).to.match(/^Name: +emma\nNamespace: +default\nLabels: +shelf=a\n/);
      expect(text)
        .to.include('API Version:  library.example.com/v1\n')
        .and.include('Spec:\n  Authors:\n    Jane Austen\n');
      expect(text).to.match(/Warning +Late +\d+s +desk +not returned \?\[31m\n$/);
      expect(await succeed('events', '--for', 'book/emma')).to.match(/Warning +Late/);
      const both = await run('events', '--for', 'book/emma', '--field-selector', 'type=Normal');
      expect(both).to.deep.equal({ code: 0, stdout: '', stderr: 'No resources found in default namespace.\n' });
    });

    it('describe continues after an object that does not exist', async () => {
      const { code, stdout, stderr } = await run('describe', 'book', 'nobody', 'emma');
      expect(code).to.equal(1);
      expect(stdout).to.match(/^Name: +emma\n/);
      expect(stderr).to.equal('Error from server (NotFound): books.library.example.com "nobody" not found\n');
    });

    it('describe shows only the sizes of the data of a Secret', async () => {
      const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { password: 'hunter2' } };
      await succeed('apply', '-f', await file('secret.json', JSON.stringify(secret)));
      const text = await succeed('describe', 'secret', 's');
      expect(text).to.include('Password:  7 bytes').and.not.include('hunter2').and.not.include('aHVudGVyMg');
      await succeed('delete', 'secret', 's');
    });

    it('explain prints the documentation of kinds and fields', async () => {
      const text = await succeed('explain', 'book.spec');
      expect(text).to.include('KIND:       Book').and.include('FIELD: spec <Object>').and.include('What the book is.');
      expect(text).to.include('title\t<string> -required-\n      As on the cover.').and.include('authors\t<[]string>');
      expect(await succeed('explain', 'book', '--recursive')).to.match(
        /\n {4}spec\t<Object> -required-\n {6}title\t<string>/,
      );
      await expectFailure(['explain', 'book.spec.none'], 1, 'field "spec.none" does not exist in Book');
      await expectFailure(['explain', 'book.spec.titel'], 1, 'does not exist in Book; did you mean "title"?');
    });

    it('api-resources prints the kinds', async () => {
      expect(await succeed('api-resources', '--api-group', 'library.example.com')).to.match(
        /^NAME +SHORTNAMES +APIVERSION +NAMESPACED +KIND\nbooks +bk +library\.example\.com\/v1 +true +Book\n$/,
      );
      expect(await succeed('api-resources', '--namespaced=false', '-o', 'name'))
        .to.include('namespaces\n')
        .and.not.include('books');
    });
  });

  it('says how to start a server when none is running [spec experience-errors]', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, 'close');
    const { code, stderr } = await runCommand(['get', 'books', '--server', `http://127.0.0.1:${port}`]);
    expect(code).to.equal(1);
    expect(stderr).to.match(
      /^error: fetch failed: .*ECONNREFUSED.*\nstart the server with homeostat serve, or give its address: --server\n$/,
    );
  });

  it('accepts annotation keys with escaped dots in jsonpath and custom columns, as kubectl does [spec experience-output]', async () => {
    await succeed('patch', 'book', 'emma', '-p', 'metadata: { annotations: { example.com/room-1: a } }');
    const path = String.raw`{.metadata.annotations.example\.com/room-1}`;
    expect(await succeed('get', 'book', 'emma', '-o', `jsonpath=${path}`)).to.equal('a');
    expect(await succeed('get', 'book', 'emma', '-o', `custom-columns=ROOM:${path}`)).to.equal('ROOM\na\n');
  });

  it('watch prints the existing objects immediately, as custom columns and in the order of --sort [slow]', async () => {
    const watching = start('watch', 'books', '--sort', 'spec.pages,desc', '-o', 'custom-columns=PAGES:.spec.pages');
    await eventually(() => expect(watching.text).to.equal('PAGES\n730\n474\n'));
    watching.child.kill('SIGINT');
    expect(await watching.ended).to.equal(130);
  });

  it('watch prints the objects, then each change, until it is stopped [spec experience-exit-codes]', async () => {
    const watching = start('watch', 'books', '-o', 'jsonpath={.metadata.name}={.spec.pages} ');
    await eventually(() => expect(watching.text).to.include('emma=474 '));
    await succeed('patch', 'book', 'emma', '-p', 'spec: { pages: 481 }');
    await eventually(() => expect(watching.text).to.match(/emma=474 .*emma=481 $/));
    watching.child.kill('SIGINT');
    expect(await watching.ended).to.equal(130);
  });
});

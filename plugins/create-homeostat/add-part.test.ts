import { expect } from 'chai';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addPart } from './add-part.ts';
import type { AddPartOptions } from './add-part.ts';
import { createPlugin } from './create-plugin.ts';
import { addToIndex } from './index-module.ts';

describe('addPart', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'homeostat-part-'));
    await createPlugin({ folder, name: 'shop', group: 'shop.example.com', kind: 'Order' });
  });

  afterEach(async () => rm(folder, { recursive: true }));

  async function add(part: Pick<AddPartOptions, 'type' | 'name' | 'kind' | 'plural'>): Promise<string> {
    try {
      const { files } = await addPart({ folder, group: 'shop.example.com', ...part });
      return files.join(' ');
    } catch (error) {
      return (error as Error).message;
    }
  }

  const read = async (path: string): Promise<string> => readFile(join(folder, path), 'utf8');

  it('writes the file and the test of a kind, controller or endpoint, and adds it to index.ts', async () => {
    expect(await add({ type: 'kind', name: 'GiftCard', plural: 'cards' })).to.equal(
      'kinds/gift-card.ts kinds/gift-card.test.ts index.ts',
    );
    expect(await add({ type: 'controller', name: 'gift-card' })).to.equal(
      'controllers/gift-card.ts controllers/gift-card.test.ts index.ts',
    );
    expect(await add({ type: 'controller', name: 'audit', kind: 'Order' })).to.include('controllers/audit.ts');
    expect(await add({ type: 'endpoint', name: 'total' })).to.equal(
      'endpoints/total.ts endpoints/total.test.ts index.ts',
    );
    const index = await read('index.ts');
    expect(index).to.match(/models: \[\s+Order,\s+GiftCard,\s+\/\/ homeostat new kind\s+\]/);
    expect(index).to.match(/controllers: \[\s+orderController,\s+giftCardController,\s+auditController,/);
    expect(index).to.match(/endpoints: \[\s+totalRoutes,/);
    expect(await read('kinds/gift-card.ts')).to.include("plural: 'cards'");
    expect(await read('controllers/audit.ts')).to.include("from '../kinds/order.ts'");
  });

  it('refuses a new kind, controller or endpoint when one of its files exists, and changes no file', async () => {
    await writeFile(join(folder, 'kinds', 'invoice.test.ts'), 'mine');
    const before = await read('index.ts');
    expect(await add({ type: 'kind', name: 'Invoice' })).to.include('kinds/invoice.test.ts exists already');
    expect(await read('index.ts')).to.equal(before);
    expect(await read('kinds/invoice.test.ts')).to.equal('mine');
    expect(await readdir(join(folder, 'kinds'))).to.not.include('invoice.ts');
  });

  for (const [part, message] of [
    [{ type: 'kind', name: 'invoice' }, 'kind: "invoice" must be PascalCase'],
    [{ type: 'kind', name: 'Watch', plural: 'watch' }, 'plural: "watch" may not be'],
    [{ type: 'controller', name: '2fa' }, 'the name "2fa" must be at most 63 lowercase letters'],
    [{ type: 'endpoint', name: '../total' }, 'the name "../total" must be at most 63 lowercase letters'],
    [{ type: 'controller', name: 'audit' }, 'there is no kinds/audit.ts: name the kind of the controller with --kind'],
    [{ type: 'controller', name: 'audit', kind: 'Nothing' }, 'there is no kinds/nothing.ts, which must export Nothing'],
  ] as const) {
    it(`refuses the ${part.type} ${part.name} with the message: ${message}`, async () => {
      const before = await read('index.ts');
      expect(await add(part)).to.include(message);
      expect(await read('index.ts')).to.equal(before);
    });
  }

  it('refuses a controller when the file of its kind does not export the kind', async () => {
    await writeFile(join(folder, 'kinds', 'order-line.ts'), 'export const other = 1;\n');
    expect(await add({ type: 'controller', name: 'audit', kind: 'OrderLine' })).to.equal(
      'kinds/order-line.ts does not export OrderLine',
    );
    expect(await add({ type: 'controller', name: 'order-line' })).to.equal(
      'kinds/order-line.ts does not export the kind: name the kind of the controller with --kind',
    );
  });

  it('refuses a new endpoint when index.ts is missing, or has no comment that marks the place of new endpoints', async () => {
    await writeFile(join(folder, 'index.ts'), 'export default {};\n');
    expect(await add({ type: 'endpoint', name: 'total' })).to.include(
      'index.ts has no line "// homeostat new endpoint": add this line to the list of endpoints; new entries are inserted above it',
    );
    await rm(join(folder, 'index.ts'));
    expect(await add({ type: 'endpoint', name: 'total' })).to.include('this folder has no index.ts');
  });
});

describe('addToIndex', () => {
  const entry = { type: 'kind', variable: 'Person', module: './kinds/person.ts' } as const;
  const list = 'const kinds = [\n    // homeostat new kind\n];';
  const added = "import { Person } from './kinds/person.ts';";

  for (const [what, head] of [
    ['an import of several lines', 'import {\n  a,\n  b,\n} from "./a.ts"\n'],
    ['an import for its effect', "import './effect.ts';\n"],
    ['no import', ''],
  ] as const) {
    it(`adds the import of a new kind below the existing imports of index.ts, when index.ts has ${what}`, () => {
      expect(addToIndex(`${head}${list}`, entry)).to.equal(
        `${head}${added}\nconst kinds = [\n    Person,\n    // homeostat new kind\n];`,
      );
    });
  }
});

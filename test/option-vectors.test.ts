import { expect } from 'chai';
import { person, persons } from './support/models/models.ts';
import { readVector } from './support/definitions/recorded-wire.ts';
import { TestServer } from './support/servers/test-server.ts';
import type { Answer } from './support/servers/test-server.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- recorded tables, each with cases of its own form
type Case = any;

const { tables } = JSON.parse(readVector('misc-tables.json')) as {
  tables: readonly { table: string; cases: Case[] }[];
};

function tableOf(name: string): readonly Case[] {
  return tables.find(({ table }) => table === name)!.cases;
}

function casesOf(name: string): readonly Case[] {
  return (JSON.parse(readVector(name)) as { cases: Case[] }).cases;
}

describe('recorded options of requests [compat recorded]', () => {
  let server: TestServer;

  before(async () => {
    server = await TestServer.start();
    // The recorded revisions go up to 10, so the database must have at least revision 10.
    await server.create(persons, person('ann'));
    for (let made = 1; made < 10; made += 1) await server.create(persons, person(`p${made}`));
  });

  after(() => server.stop());

  const list = (query: Readonly<Record<string, string>>): Promise<Answer> =>
    server.get(`${persons}?${new URLSearchParams(query).toString()}`);

  it('dryRun accepts All, also several times; other values are refused with 422', async () => {
    const dryRun = async (values: readonly string[]): Promise<number> => {
      const query = new URLSearchParams(values.map((value): [string, string] => ['dryRun', value]));
      return (await server.patch(`${persons}/ann?${query.toString()}`, {})).status;
    };
    for (const values of tableOf('v1_validation.TestValidDryRun.tests')) expect(await dryRun(values)).to.equal(200);
    for (const values of tableOf('v1_validation.TestInvalidDryRun.tests')) expect(await dryRun(values)).to.equal(422);
  });

  it('each type of patch is accepted with the recorded options `fieldManager` and `force`, except CBOR, which is refused', async () => {
    for (const { opts, patchType } of tableOf('v1_validation.TestValidPatchOptions.tests')) {
      const { FieldManager: fieldManager, Force: force } = opts as { FieldManager?: string; Force?: boolean };
      const query = new URLSearchParams({ ...(fieldManager && { fieldManager }), ...(force && { force: 'true' }) });
      const body = patchType.startsWith('application/apply') ? person('ann') : {};
      const { status } = await server.patch(`${persons}/ann?${query.toString()}`, body, { type: patchType });
      expect(status, patchType).to.be.oneOf(patchType.endsWith('cbor') ? [415, 422] : [200]);
    }
  });

  it('names of field managers that are too long or not printable are refused with 422', async () => {
    for (const fieldManager of tableOf('v1_validation.TestValidateFieldManagerInvalid.tests')) {
      const query = new URLSearchParams({ fieldManager });
      const { status, body } = await server.patch(`${persons}/ann?${query.toString()}`, {});
      expect([status, body.details.causes[0].field]).to.deep.equal([422, 'fieldManager']);
    }
  });

  it('malformed managedFields are refused with 422', async () => {
    for (const entry of tableOf('v1_validation.TestValidateManagedFieldsInvalid.tests')) {
      const { APIVersion: apiVersion, FieldsType: fieldsType, Manager: manager, Operation: operation } = entry;
      const managedFields = [{ apiVersion, fieldsType, manager, operation, subresource: entry.Subresource }];
      const { status, body } = await server.patch(`${persons}/ann`, { metadata: { managedFields } });
      expect(status, JSON.stringify(entry)).to.equal(422);
      expect(body.details.causes[0].field).to.match(/^metadata\.managedFields\[0\]\./);
    }
  });

  for (const { Version: resourceVersion, Err: isWrong } of casesOf('resource-version-parse.json')) {
    it(`resourceVersion "${resourceVersion}" is ${isWrong ? 'refused' : 'accepted'}`, async () => {
      expect((await list({ resourceVersion })).status).to.equal(isWrong ? 400 : 200);
    });
  }

  for (const { name, continue: token } of casesOf('continue-tokens.json')) {
    it(`the continue token "${name}" of another server is refused`, async () => {
      const { status, body } = await list({ limit: '1', continue: token });
      expect([status, body.reason]).to.deep.equal([400, 'BadRequest']);
      expect(body.message).to.contain('continue key is not valid');
    });
  }

  for (const { name, opts, expectedError } of casesOf('list-options.json')) {
    // Recorded revisions and tokens are replaced with those of this server: the revisions may be in the future here,
    // and the tokens come from another server.
    const { Predicate: predicate, ResourceVersion = '', ResourceVersionMatch: resourceVersionMatch } = opts;
    const isRevision = /^[1-9]\d*$/.test(ResourceVersion);
    it(`the server accepts or refuses a list with these options as Kubernetes does: ${name}`, async () => {
      const now = await server.revision(persons);
      const first = (await list({ limit: '1' })).body.metadata.continue ?? '';
      const query = {
        ...(ResourceVersion === '' ? {} : { resourceVersion: isRevision ? now : ResourceVersion }),
        ...(resourceVersionMatch === undefined ? {} : { resourceVersionMatch }),
        ...(predicate?.Limit === undefined ? {} : { limit: '1' }),
        ...(predicate?.Continue === undefined ? {} : { continue: first }),
      };
      const { status, body } = await list(query);
      expect(status, body.message).to.equal(expectedError === '' ? 200 : 400);
      if (expectedError === '') expect(body.metadata.resourceVersion).to.equal(now);
    });
  }
});

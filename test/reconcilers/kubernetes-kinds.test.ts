import { expect } from 'chai';
import { ConfigMap, controller, Event, Lease, Namespace, Secret, ServiceAccount, wish } from 'homeostat';
import { startTestServer } from 'homeostat/testing';
import { runControllers, transports } from './both-clients.ts';
import { Team } from './models.ts';

interface ServedKind {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly shortNames?: readonly string[];
}

interface ServedSchema {
  readonly properties: object;
  readonly 'x-kubernetes-group-version-kind'?: readonly { readonly kind: string }[];
}

const kinds = [ConfigMap, Event, Lease, Namespace, Secret, ServiceAccount];

describe("the exported models of Kubernetes' kinds", () => {
  it('have the same names, scopes and fields as the kinds that the server serves', async () => {
    const server = await startTestServer();
    const read = async (path: string): Promise<unknown> => (await fetch(`${server.url}${path}`)).json();
    for (const { group, version, kind, plural, scope, shortNames, components } of kinds) {
      const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
      const { resources } = (await read(path)) as { readonly resources: readonly ServedKind[] };
      const served = resources.find(({ name }) => name === plural);
      expect(served, kind).to.include({ kind, namespaced: scope === 'Namespaced' });
      expect(served?.shortNames ?? [], kind).to.deep.equal(shortNames);
      const document = (await read(`/openapi/v3${path}`)) as {
        readonly components: { readonly schemas: Readonly<Record<string, ServedSchema>> };
      };
      const schema = Object.values(document.components.schemas).find((each) =>
        each['x-kubernetes-group-version-kind']?.some((named) => named.kind === kind),
      );
      expect(Object.keys(schema?.properties ?? {}), kind).to.have.members(
        Object.keys(components[kind]?.properties ?? {}),
      );
    }
    await server.stop();
  });

  for (const transport of transports) {
    it(`can be used for the dependents that a run declares; a later run without changes sends no request, ${transport}`, async () => {
      const metadata = { name: 'red', namespace: 'default' };
      const definition = controller(Team, {
        owns: [ConfigMap, Secret, ServiceAccount],
        reconcile: async ({ object, own }) => {
          await own([
            wish(ConfigMap, { metadata, data: { size: String(object.spec.size) } }),
            wish(Secret, { metadata, data: { key: 'c2VjcmV0' } }),
            wish(ServiceAccount, { metadata }),
          ]);
        },
      });
      const at = await runControllers(transport, {
        models: [Team],
        controllers: [definition],
        before: (client) => client.create(Team, { metadata: { name: 'red' }, spec: { size: 2 } }),
      });
      await at.settle();
      const configMap = () => at.client.get(ConfigMap, 'red', { namespace: 'default' });
      expect((await configMap()).data).to.deep.equal({ size: '2' });
      expect((await at.client.get(Secret, 'red', { namespace: 'default' })).type).to.equal('Opaque');
      const requests = at.requestsOfRuns();
      await at.restart();
      await at.settle();
      expect(at.requestsOfRuns()).to.equal(requests);
      await at.client.patch(Team, 'red', { type: 'merge', patch: { spec: { size: 3 } } });
      await at.settle();
      expect((await configMap()).data).to.deep.equal({ size: '3' });
      expect(at.requestsOfRuns()).to.equal(requests + 1);
      await at.stop();
    });
  }
});

import { controller, wish } from 'homeostat';
import type { Wish } from 'homeostat';
import { Application, Database, Environment, Network } from './models.ts';

/**
 * Composes an environment. Each part is created when the previous one is ready; the parts are deleted in the reverse
 * order.
 */
export const environmentController = controller(Environment, {
  owns: [Network, Database, Application],
  async reconcile({ object, own, condition }) {
    const { states } = await own(partsOf(object.metadata.name, object.spec));
    for (const { id, state, ready, waitsFor = [] } of states) {
      const reason = ready ? 'Provisioned' : state === 'waiting' ? 'Waiting' : 'Provisioning';
      condition(`${id}Ready`, ready ? 'True' : 'False', { reason, message: waitsFor.join(', ') });
    }
    condition.summary(
      'Ready',
      states.map(({ id }) => `${id}Ready`),
    );
  },
  async cleanup({ own }) {
    const { leaving } = await own([]);
    // The next run starts as soon as a part is gone; ten minutes is only the maximum delay of the next run.
    return leaving.length > 0 ? { after: '10m' } : undefined;
  },
});

interface EnvironmentSpec {
  readonly region: string;
  readonly image: string;
  readonly size?: 'small' | 'large';
}

function partsOf(name: string, { region, image, size = 'small' }: EnvironmentSpec): readonly Wish[] {
  const metadata = { name };
  const ready = 'Ready';
  return [
    wish(Network, { metadata, spec: { region } }, { id: 'Network', ready }),
    wish(Database, { metadata, spec: { network: name, size } }, { id: 'Database', ready, after: ['Network'] }),
    wish(Application, { metadata, spec: { image, database: name } }, { id: 'Application', ready, after: ['Database'] }),
  ];
}

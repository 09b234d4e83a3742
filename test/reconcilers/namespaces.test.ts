import { controller, defineModel, wish } from 'homeostat';
import { expect } from 'chai';
import { runControllers, transports } from './both-clients.ts';

const Room = defineModel({
  gvk: 'work.example.com/v1/Room',
  plural: 'rooms',
  scope: 'Namespaced',
  schema: { type: 'object', properties: { spec: { type: 'object', properties: { seats: { type: 'integer' } } } } },
});

const Seat = defineModel({
  gvk: 'work.example.com/v1/Seat',
  plural: 'seats',
  scope: 'Namespaced',
  schema: { type: 'object', properties: { spec: { type: 'object', properties: { place: { type: 'string' } } } } },
});

/** A model of the kind Namespace, which every server serves. */
const Namespace = defineModel({
  gvk: 'v1/Namespace',
  plural: 'namespaces',
  schema: { type: 'object', properties: {} },
});

for (const transport of transports) {
  describe(`the run of a Namespaced object, ${transport}`, () => {
    it('passes the namespace of the object to reconcile, and own creates the dependents in this namespace', async () => {
      // A list of strings, so that the call of `push` below compiles only if the type of both namespaces is `string`.
      const namespaces: string[] = [];
      const rooms = controller(Room, {
        owns: [Seat],
        async reconcile({ namespace, object, own, children }) {
          namespaces.push(namespace, object.metadata.namespace);
          const seats = Array.from({ length: object.spec?.seats ?? 0 }, (_, index) =>
            wish(Seat, { metadata: { name: `seat-${index}` }, spec: { place: namespace } }),
          );
          await own(seats);
          expect(children(Seat)).to.have.length(seats.length);
        },
      });
      const at = await runControllers(transport, { models: [Room, Seat], controllers: [rooms] });
      for (const name of ['north', 'south']) {
        await at.client.create(Namespace, { metadata: { name } });
        await at.client.create(Room, { metadata: { name: 'hall', namespace: name }, spec: { seats: 2 } });
      }
      await at.settle();
      const { items } = await at.client.list(Seat);
      const keys = items.map(({ metadata, spec }) => `${metadata.namespace}/${metadata.name} ${spec?.place}`);
      expect(keys.toSorted()).to.deep.equal([
        'north/seat-0 north',
        'north/seat-1 north',
        'south/seat-0 south',
        'south/seat-1 south',
      ]);
      expect(new Set(namespaces)).to.deep.equal(new Set(['north', 'south']));
      await at.stop();
    });
  });
}

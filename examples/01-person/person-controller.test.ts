import { checkConvergence } from 'homeostat/testing';
import { personController } from './person-controller.ts';
import { Person } from './person.ts';

describe('the controller of example 01', () => {
  it('greets every person, and lets every person be deleted, whatever faults occur meanwhile [slow]', async () => {
    await checkConvergence({
      controllers: [personController],
      seeds: 30,
      async scenario({ client, settle }) {
        await client.create(Person, { metadata: { name: 'ada' }, spec: { name: 'Ada' } });
        await client.create(Person, { metadata: { name: 'grace' }, spec: { name: 'Grace' } });
        await settle();
        await client.patch(Person, 'ada', { type: 'merge', patch: { spec: { name: 'Ada L.' } } });
        await client.patch(Person, 'ada', { type: 'merge', patch: { spec: { name: 'Ada Lovelace' } } });
        await client.delete(Person, 'grace');
      },
    });
  });
});

import { controller } from 'homeostat';
import { Person } from './person.ts';

/** Counts the people that a person knows directly and through others. */
export const personController = controller(Person, {
  async reconcile({ object, status }) {
    // `status` adds observedGeneration automatically, because the schema of the status has this field.
    await status({ acquaintances: acquaintancesOf(object) });
  },
});

function acquaintancesOf({ otherPerson }: Person): number {
  return otherPerson === undefined ? 0 : 1 + acquaintancesOf(otherPerson);
}

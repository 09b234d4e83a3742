import { controller } from 'homeostat';
import { Person } from './person.ts';

/** Counts whom a person knows, and whom those know. */
export const personController = controller(Person, {
  async reconcile({ object, status }) {
    // observedGeneration is added automatically, since the status schema has it.
    await status({ acquaintances: acquaintancesOf(object) });
  },
});

function acquaintancesOf({ otherPerson }: Person): number {
  return otherPerson === undefined ? 0 : 1 + acquaintancesOf(otherPerson);
}

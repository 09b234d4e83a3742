import { controller } from 'homeostat';
import { Person } from './person.ts';

/** Greets every person, and says goodbye to each person that is deleted. */
export const personController = controller(Person, {
  async reconcile({ object, status }) {
    // `status` adds observedGeneration automatically, because the schema of the status has this field.
    await status({ greeting: `Hello ${object.spec.name ?? object.metadata.name}`, phase: 'Greeted' });
  },
  // With `cleanup`, each person has a finalizer: a deleted person stays until `cleanup` has run.
  cleanup({ object, logger }) {
    logger.info({ person: object.metadata.name }, `Goodbye ${object.spec.name ?? object.metadata.name}`);
  },
});

import { defineExtensionPoint, defineModel, definePlugin } from 'homeostat';

const spec = {
  type: 'object',
  required: ['title'],
  properties: {
    title: { type: 'string', maxLength: 200 },
    done: { type: 'integer', minimum: 0, maximum: 100, description: 'Percentage of the work that is done' },
  },
} as const;

export const Task = defineModel({
  gvk: 'tasks.example.com/v1/Task',
  plural: 'tasks',
  schema: { type: 'object', required: ['spec'], properties: { spec } },
  indexes: ['spec.done'],
  printerColumns: [
    { name: 'Title', type: 'string', jsonPath: '.spec.title' },
    { name: 'Done', type: 'integer', jsonPath: '.spec.done' },
  ],
});

/** The extension points of the console. The modules that this plugin contributes are among its static files. */
const pages = defineExtensionPoint<object>('console/pages');
const panels = defineExtensionPoint<object>('console/panels');
const columns = defineExtensionPoint<object>('console/columns');
const actions = defineExtensionPoint<object>('console/actions');

/** The kind to which the panel, the column and the button belong. */
const kind = 'tasks.tasks.example.com';

export default definePlugin({
  models: [Task],
  start({ extensions }) {
    extensions.contribute(pages, { name: 'board', title: 'Task board', module: 'board.js' });
    extensions.contribute(panels, {
      name: 'progress',
      title: 'Progress',
      module: 'progress.js',
      kind,
    });
    extensions.contribute(columns, { name: 'team', title: 'Team', path: 'metadata.labels[example.com/team]', kind });
    extensions.contribute(actions, { name: 'finish', title: 'Finish', module: 'finish.js', kind });
  },
});

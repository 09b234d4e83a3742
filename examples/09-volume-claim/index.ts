import { definePlugin } from 'homeostat';
import { claimController } from './claim-controller.ts';
import { EphemeralVolumeClaim, Volume } from './models.ts';
import { volumeController } from './volume-controller.ts';

export default definePlugin({
  models: [EphemeralVolumeClaim, Volume],
  controllers: [claimController, volumeController],
});

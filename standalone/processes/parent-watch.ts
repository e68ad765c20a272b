/**
 * Loaded into every role before its own code (`node --import`): when the supervisor dies, even by kill -9, the
 * channel to it closes and the role ends as if asked to.
 */
const PATIENCE_MS = 3_000

process.once('disconnect', () => {
  process.kill(process.pid, 'SIGTERM')
  setTimeout(() => process.exit(1), PATIENCE_MS).unref()
})
// A listener keeps the channel, and so the role, alive. The role ends when its own work does.
process.channel?.unref()

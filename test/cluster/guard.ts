import { removeCluster } from './cluster.ts'

/** Started beside a cluster: its input ends when the process that owns the cluster does. */
const [dir = ''] = process.argv.slice(2)
process.stdin.resume().on('end', () => void removeCluster(dir))

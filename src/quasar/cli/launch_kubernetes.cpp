#include <algorithm>

#include "quasar/base/json.hpp"
#include "quasar/cli/launch_files.hpp"

namespace quasar::cli {
namespace {

constexpr const char* yaml_head =
    R"(# Made by `quasar launch kubernetes`: a search with {{workers}} workers, in the present namespace.
#   kubectl apply -f FILE                                    begins it, or continues it after `kubectl delete job quasar-leader`
{{how_to_copy}}#   kubectl logs -f job/quasar-leader
#   kubectl patch job quasar-workers -p '{"spec":{"parallelism":20}}'{{most}}
#   kubectl delete -f FILE                                   removes everything but what a volume of yours holds
apiVersion: v1
kind: Secret
metadata:
  name: quasar-database
  labels: {app: quasar}
stringData:
  address: {{address}}
{{password}}---
apiVersion: v1
kind: ConfigMap
metadata:
  name: quasar-search
  labels: {app: quasar}
data:
  {{name}}: |2
{{text}})";

constexpr const char* yaml_new_claim = R"(---
# Model and samples at the places that the configuration names, and the results.
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: quasar-data
  labels: {app: quasar}
spec:
  accessModes: [ReadWriteOnce]
  resources:
    requests: {storage: 20Gi}
)";

constexpr const char* yaml_database = R"(---
apiVersion: v1
kind: Service
metadata:
  name: quasar-database
  labels: {app: quasar}
spec:
  selector: {app: quasar, part: database}
  ports:
    - {port: 5432}
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: quasar-database
  labels: {app: quasar}
spec:
  serviceName: quasar-database
  replicas: 1
  selector:
    matchLabels: {app: quasar, part: database}
  template:
    metadata:
      labels: {app: quasar, part: database}
    spec:
      containers:
        - name: postgres
          image: postgres:15
          args: ["-c", "max_connections={{connections}}"]
          env:
            - {name: POSTGRES_USER, value: quasar}
            - {name: PGDATA, value: /var/lib/postgresql/data/pgdata}
            - name: POSTGRES_PASSWORD
              valueFrom:
                secretKeyRef: {name: quasar-database, key: password}
          ports:
            - {containerPort: 5432}
          readinessProbe:
            exec:
              command: [pg_isready, --username, quasar]
            periodSeconds: 5
          resources:
            requests: {cpu: "1", memory: 1Gi}
          volumeMounts:
            - {name: studies, mountPath: /var/lib/postgresql/data}
  volumeClaimTemplates:
    - metadata:
        name: studies
      spec:
        accessModes: [ReadWriteOnce]
        resources:
          requests: {storage: 10Gi}
)";

constexpr const char* yaml_leader = R"(---
apiVersion: batch/v1
kind: Job
metadata:
  name: quasar-leader
  labels: {app: quasar}
spec:
  backoffLimit: 20
  podFailurePolicy:
    rules:
      # A node that is taken away is no failure: the search goes on elsewhere, from what the database holds.
      - action: Ignore
        onPodConditions:
          - {type: DisruptionTarget, status: "True"}
      # 1: something is wrong with what was asked; 2: the goal was missed, and the results say so. 75 counts as a failure that may
      # pass: a full disk, a database out of reach.
      - action: FailJob
        onExitCodes: {containerName: leader, operator: In, values: [1, 2]}
  template:
    metadata:
      labels: {app: quasar, part: leader}
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 60
{{leader_waits}}      containers:
        - name: leader
          image: {{image}}
          command: [sh, -ec]
          args:
            - |
              cp {{config_here}} {{config_there}}
              exec quasar search {{config_there}} --output-dir /data/quasar_out \
                --set "study_storage_db=$STORAGE" --set load_study_if_exists=true{{devices}}
{{environment}}          resources:
            requests: {cpu: "{{cpus}}", memory: {{memory}}Gi}
            limits: {memory: {{memory}}Gi{{gpus}}}
          volumeMounts:
            - {name: data, mountPath: /data}
            - {name: search, mountPath: /search}
      volumes:
        - name: data
          persistentVolumeClaim: {claimName: {{claim}}}
        - name: search
          configMap: {name: quasar-search}
)";

constexpr const char* yaml_waiting_for_database = R"(        - name: database
          image: postgres:15
          command: [sh, -c, "until pg_isready --quiet --host quasar-database; do sleep 2; done"]
)";

constexpr const char* yaml_waiting_for_files = R"(        - name: files
          image: {{image}}
          command: [sh, -c, "until [ -e /data/.complete ]; do sleep 2; done"]
          volumeMounts:
            - {name: data, mountPath: /data}
)";

// A worker that is asked to end finishes its trial, and then fails for Kubernetes: a success would say that nothing is left to
// do.
constexpr const char* yaml_workers = R"(---
apiVersion: batch/v1
kind: Job
metadata:
  name: quasar-workers
  labels: {app: quasar}
spec:
  parallelism: {{workers}}
  backoffLimit: {{failures}}
  podFailurePolicy:
    rules:
      - action: Ignore
        onPodConditions:
          - {type: DisruptionTarget, status: "True"}
      # 130: the leader was interrupted, and will need workers again when it goes on.
      - action: Ignore
        onExitCodes: {containerName: worker, operator: In, values: [130]}
  template:
    metadata:
      labels: {app: quasar, part: worker}
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 60
{{spot}}{{worker_waits}}      containers:
        - name: worker
          image: {{image}}
          command: [sh, -c]
          args:
            - |
              trap 'kill -TERM "$worker"; wait "$worker"; exit 143' TERM
              quasar worker "$STORAGE" --study {{study}} --wait 3600 --drain 50{{code}}{{devices}} &
              worker=$!
              wait "$worker"
{{environment}}          resources:
            requests: {cpu: "{{cpus}}", memory: {{memory}}Gi}
            limits: {memory: {{memory}}Gi{{gpus}}}
)";

constexpr const char* yaml_environment_of_address = R"(          env:
            - name: STORAGE
              valueFrom:
                secretKeyRef: {name: quasar-database, key: address}
)";

constexpr const char* yaml_environment_of_password = R"(            - name: PGPASSWORD
              valueFrom:
                secretKeyRef: {name: quasar-database, key: password}
)";

constexpr const char* yaml_spot_nodes = R"(      # Workers run on nodes that the cluster may take back at any time.
      nodeSelector: {{label}}
      tolerations:
        - {key: {{key}}, operator: Exists}
)";

// A text of YAML on one line.
std::string quoted(const std::string& text) {
  return Json(text).dump();
}

// One for each process: for workers that `kubectl patch` adds too, for the leader, and for those who look at the study.
int64_t connections_for(const LaunchOptions& options) {
  return std::max<int64_t>(200, 2 * options.workers + 20);
}

std::string indented(const std::string& text, const std::string& by) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out += (end == at ? "" : by) + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

}  // namespace

std::string kubernetes_objects(const LaunchOptions& options) {
  const bool is_private = options.storage.empty(), makes_claim = options.claim.empty();
  const std::string name = options.configuration.filename().string();
  std::map<std::string, std::string> values{
      {"workers", std::to_string(options.workers)},
      {"failures", std::to_string(6 * options.workers)},
      {"connections", std::to_string(connections_for(options))},
      {"cpus", std::to_string(options.cpus)},
      {"memory", std::to_string(options.memory)},
      {"gpus", options.gpus > 0 ? ", nvidia.com/gpu: " + std::to_string(options.gpus) : ""},
      {"most", is_private ? "   up to " + std::to_string(connections_for(options) - 20) : ""},
      {"devices", devices_option(options.gpus)},
      {"code", code_option(options)},
      {"address", quoted(is_private ? "postgresql://quasar@quasar-database/quasar" : options.storage)},
      {"password", is_private ? "  password: " + quoted(options.password) + "\n" : ""},
      {"name", quoted(name)},
      {"text", indented(options.text, "    ")},
      {"study", as_word(options.study)},
      {"image", quoted(options.image)},
      {"claim", quoted(makes_claim ? "quasar-data" : options.claim)},
      {"config_here", as_word("/search/" + name)},
      {"config_there", as_word("/data/" + name)},
      {"environment", std::string(yaml_environment_of_address) + (is_private ? yaml_environment_of_password : "")},
      {"how_to_copy", makes_claim
                          ? "#   kubectl cp FOLDER/. POD:/data -c files                  model and samples, once, into the "
                            "leader's pod while it waits\n"
                            "#   kubectl exec POD -c files -- touch /data/.complete       they are all there\n"
                          : ""}};
  const std::string first = "      initContainers:\n", waits = is_private ? yaml_waiting_for_database : "";
  const std::string files = makes_claim ? filled(yaml_waiting_for_files, values) : "";
  values["leader_waits"] = waits.empty() && files.empty() ? "" : first + files + waits;
  values["worker_waits"] = waits.empty() ? "" : first + waits;
  if (const size_t equal = options.spot.find('='); !options.spot.empty()) {
    const std::string key = quoted(options.spot.substr(0, equal));
    values["spot"] =
        filled(yaml_spot_nodes, {{"label", "{" + key + ": " + quoted(options.spot.substr(equal + 1)) + "}"}, {"key", key}});
  } else {
    values["spot"] = "";
  }
  return filled(std::string(yaml_head) + (makes_claim ? yaml_new_claim : "") + (is_private ? yaml_database : "") + yaml_leader +
                    yaml_workers,
                values);
}

}  // namespace quasar::cli

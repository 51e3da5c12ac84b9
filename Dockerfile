# An image with the command quasar, from the packages that `make deb` makes: docker build -t quasar -f Dockerfile build/deb
FROM debian:12-slim
COPY quasar_*.deb libquasar0.1_*.deb /packages/
RUN apt-get update && apt-get install --yes --no-install-recommends /packages/*.deb && rm -rf /packages /var/lib/apt/lists/*
ENTRYPOINT ["quasar"]
